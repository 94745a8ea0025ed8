// Allows web pages of every origin to use an endpoint without cookies (docs/behaviour-auth.md, "Cross-origin
// requests").
import type { RequestHandler } from 'express';

export interface CrossOriginAccess {
  readonly methods: string;
  /** The headers that a page may send. */
  readonly requestHeaders: string;
  /** The headers that a page may read. */
  readonly responseHeaders?: string;
}

/** Also responds to the OPTIONS request that a browser sends before a request of another origin. */
export const allowEveryOrigin =
  ({ methods, requestHeaders, responseHeaders }: CrossOriginAccess): RequestHandler =>
  (request, response, next) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    if (responseHeaders !== undefined) response.setHeader('Access-Control-Expose-Headers', responseHeaders);
    if (request.method !== 'OPTIONS') return next();
    response.setHeader('Access-Control-Allow-Methods', methods);
    response.setHeader('Access-Control-Allow-Headers', requestHeaders);
    response.setHeader('Access-Control-Max-Age', '3600');
    response.status(204).end();
  };
