// Removes the path of BASE_URL from request URLs, so that a reverse proxy may strip that path or leave it in.
import type { Express } from 'express';

export function mountBasePath(app: Express, baseUrl: string): void {
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '');
  if (basePath === '') return;
  app.use((request, _response, next) => {
    if (request.url === basePath || request.url.startsWith(`${basePath}/`))
      request.url = request.url.slice(basePath.length) || '/';
    next();
  });
}
