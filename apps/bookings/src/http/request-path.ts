// Rewrites the URLs of requests before they are routed.
import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** Removes the path of BASE_URL, which a reverse proxy may remove from the URL or leave in it. */
export function removeBasePath(baseUrl: string): RequestHandler {
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '');
  return (request, _response, next) => {
    if (request.url === basePath || request.url.startsWith(`${basePath}/`))
      request.url = request.url.slice(basePath.length) || '/';
    next();
  };
}

/**
 * Treats a path that is not valid percent-encoding as literal text. Express would reject it before it looks for a route.
 * As literal text, it names a resource that does not exist, which gets 404, or 401 without a valid token.
 */
export function escapeUndecodablePath(request: Request, _response: Response, next: NextFunction): void {
  const [path = ''] = request.url.split('?', 1);
  if (!isDecodable(path)) request.url = path.replaceAll('%', '%25') + request.url.slice(path.length);
  next();
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
