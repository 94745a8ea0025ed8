// Responds to OPTIONS, and lets web pages of other origins use endpoints without cookies (docs/behaviour-auth.md,
// "Cross-origin requests").
import type { RequestHandler } from 'express';

export interface CrossOriginRules {
  /** Returns the path as the other rules have it. */
  readonly listedPath: (path: string) => string;
  /** The methods of each path, as the header `Allow` lists them. */
  readonly methodsOf: ReadonlyMap<string, string>;
  /** Browsers show these paths to users. Web pages do not request them. */
  readonly pagePaths: ReadonlySet<string>;
  /** Every origin may read the responses. */
  readonly openPaths: ReadonlySet<string>;
}

/** Browsers never match `Authorization` with `*`. */
const requestHeaders = 'Authorization, Content-Type, DPoP, traceparent, tracestate, *';

export const allowCrossOrigin =
  ({ listedPath, methodsOf, pagePaths, openPaths }: CrossOriginRules): RequestHandler =>
  (request, response, next) => {
    const { method } = request;
    const path = listedPath(request.path);
    const methods = methodsOf.get(path);
    if (openPaths.has(path)) {
      response.set({
        'Access-Control-Allow-Origin': '*',
        'Access-Control-Expose-Headers': 'WWW-Authenticate, DPoP-Nonce',
      });
    }
    if (method !== 'OPTIONS' || methods === undefined) return next();
    response.locals.route = path;
    response.set({
      Allow: methods,
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': requestHeaders,
      'Access-Control-Max-Age': '3600',
      // The response to the request itself may have another origin.
      ...(!pagePaths.has(path) && { 'Access-Control-Allow-Origin': '*' }),
    });
    response.status(204).end();
  };
