// Rewrites pushed authorization requests (RFC 9126) and device authorization requests (RFC 8628) before oidc-provider
// reads them, in the same way as requests to the authorization endpoint (authorization-request.ts). The library reads
// the body from here.
import express, { Router } from 'express';
import { handleRejectedBody } from '../../http/rejected-body.ts';
import { rewriteAuthorizationQuery } from '../authorization-request.ts';
import '../library-warnings.ts';

export function rewritePushedRequests(paths: string[]): Router {
  const router = Router();
  // Without this, Express answers OPTIONS itself, and a web page could not push a request.
  router.options(paths, (_request, _response, next) => next('router'));
  router.post(paths, express.urlencoded({ extended: false, limit: '56kb' }), (request, _response, next) => {
    if (request.body) request.body = rewriteAuthorizationQuery(request.body);
    next();
  });
  router.use(
    paths,
    handleRejectedBody((_request, response, { status, error, description }) =>
      response.status(status).json({ error, error_description: description }),
    ),
  );
  return router;
}
