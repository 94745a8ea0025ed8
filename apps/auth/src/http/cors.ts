// Which origins may read what? Discovery and the keys are for everybody, without credentials (contract section 6). Userinfo says so in
// userinfo.ts; the token and revocation endpoints let the origins of the client's redirect URIs read, in answers.ts.
import type { RequestHandler } from 'express';
import { discoveryPaths, routes } from '../oidc/paths.ts';

const publicDocuments: ReadonlySet<string> = new Set([...discoveryPaths, routes.jwks]);

export const allowPublicDocuments: RequestHandler = (request, response, next) => {
  if (!publicDocuments.has(request.path)) return next();
  response.setHeader('Access-Control-Allow-Origin', '*');
  if (request.method !== 'OPTIONS') return next();
  response.setHeader('Access-Control-Allow-Methods', 'GET');
  response.setHeader('Access-Control-Allow-Headers', '*');
  response.setHeader('Access-Control-Max-Age', '3600');
  response.status(204).end();
};
