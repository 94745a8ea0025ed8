// Rewrites the path of a request to the exact path of an endpoint, so that `/connect/Token/` becomes `/connect/token`.
// Otherwise oidc-provider, which ignores case and a trailing slash, would serve the request without our middleware.
import type { RequestHandler } from 'express';

export function normalisePath(paths: Iterable<string>): RequestHandler {
  const exactPaths = new Map([...paths].map((path) => [path.toLowerCase(), path]));
  return (request, _response, next) => {
    const [written = '', ...query] = request.url.split('?');
    const exact = exactPaths.get(written.toLowerCase().replace(/\/$/, ''));
    if (exact !== undefined && exact !== written) request.url = [exact, ...query].join('?');
    next();
  };
}
