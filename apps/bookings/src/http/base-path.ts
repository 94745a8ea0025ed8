// Removes the path of BASE_URL from request URLs. The service therefore works behind a reverse proxy that removes this
// path as well as behind one that leaves it in the URL.
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
