// Allows web pages of every origin to use an endpoint without cookies (docs/behaviour.md, "Cross-origin requests").
// oidc/machine-endpoints.ts contains the stricter rules of the token endpoint and similar endpoints.
import type { RequestHandler } from 'express';

export interface CrossOriginAccess {
  /** The value of `Access-Control-Allow-Methods`. */
  readonly methods: string;
  /** The headers that a page may send: the value of `Access-Control-Allow-Headers`. */
  readonly requestHeaders: string;
  /** The headers that a page may read: the value of `Access-Control-Expose-Headers`. */
  readonly responseHeaders?: string;
}

/**
 * Allows the requests of web pages of every origin. Also responds to the OPTIONS request that a browser sends before
 * such a request.
 */
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
