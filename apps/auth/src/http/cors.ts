// Allows web pages of every origin to read public documents, without credentials (docs/behaviour.md, "Cross-origin
// requests"). Two other files handle CORS for other endpoints: oidc/endpoints/userinfo.ts and
// oidc/machine-endpoints.ts.
import type { RequestHandler } from 'express';

/** `paths` are the paths of the public documents. */
export const allowCrossOriginReading =
  (paths: ReadonlySet<string>): RequestHandler =>
  (request, response, next) => {
    if (!paths.has(request.path)) return next();
    response.setHeader('Access-Control-Allow-Origin', '*');
    if (request.method !== 'OPTIONS') return next();
    response.setHeader('Access-Control-Allow-Methods', 'GET');
    response.setHeader('Access-Control-Allow-Headers', '*');
    response.setHeader('Access-Control-Max-Age', '3600');
    response.status(204).end();
  };
