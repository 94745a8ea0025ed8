// Rewrites the path of a request to the exact path of an endpoint, so that `/connect/Token/` becomes `/connect/token`.
// The router of oidc-provider ignores case and a trailing slash, but our own middleware compares exact paths. If the
// path were not rewritten, our middleware would ignore a request to `/connect/Token`, and oidc-provider would serve
// this request without our rules.
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
