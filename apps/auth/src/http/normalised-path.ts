// Which endpoint is `/connect/Token/`? The library's router takes it for `/connect/token`, our own rules go by the exact path: without
// this, half of them would not hold there. So an endpoint's path in other letters, or with a slash at its end, is read as the endpoint's.
import type { RequestHandler } from 'express';

export function normalisePath(paths: Iterable<string>): RequestHandler {
  const byReading = new Map([...paths].map((path) => [path.toLowerCase(), path]));
  return (request, _response, next) => {
    const [written = '', ...query] = request.url.split('?');
    const path = byReading.get(written.toLowerCase().replace(/\/$/, ''));
    if (path !== undefined && path !== written) request.url = [path, ...query].join('?');
    next();
  };
}
