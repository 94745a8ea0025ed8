// Rewrites the URLs of requests before they are routed.
import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** Returns the path of BASE_URL without a slash at its end. */
export const basePathOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/+$/, '');

/** A reverse proxy may remove the path of BASE_URL, or leave it in the URL. */
export function removeBasePath(baseUrl: string): RequestHandler {
  const basePath = basePathOf(baseUrl);
  return (request, _response, next) => {
    if (request.url === basePath || request.url.startsWith(`${basePath}/`))
      request.url = request.url.slice(basePath.length) || '/';
    next();
  };
}

/** Treats an undecodable path as a literal string, which gets 401 or 404: Express would reject it first. */
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
