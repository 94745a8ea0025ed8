// What if BASE_URL has a path? A proxy may strip it or leave it; both arrive at the same endpoints.
import type { Express } from 'express';

export function mountPrefix(app: Express, baseUrl: string): void {
  const prefix = new URL(baseUrl).pathname.replace(/\/+$/, '');
  if (prefix === '') return;
  app.use((request, _response, next) => {
    if (request.url === prefix || request.url.startsWith(`${prefix}/`))
      request.url = request.url.slice(prefix.length) || '/';
    next();
  });
}
