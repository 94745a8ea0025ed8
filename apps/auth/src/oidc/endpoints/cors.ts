// Responds to OPTIONS and lets web pages of other origins use endpoints without cookies (docs/behaviour-auth.md,
// "Cross-origin requests").
import type { RequestHandler } from 'express';
import { listedPath, methodsOf, openPaths, pagePaths } from '../paths.ts';

/** Browsers never match `Authorization` with `*`. */
const requestHeaders = 'Authorization, Content-Type, DPoP, traceparent, tracestate, *';

export const allowCrossOrigin: RequestHandler = (request, response, next) => {
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
