// Rewrites pushed (RFC 9126) and device authorization requests (RFC 8628) like those of the authorization endpoint.
// Long requests are rejected, because their parameters are stored, and anybody can use a public client.
import express, { Router } from 'express';
import { handleRejectedBody } from '../../http/rejected-body.ts';
import { rewriteAuthorizationQuery } from '../authorization/requests.ts';

/** In bytes. */
const maxBody = 16_384;

export function rewritePushedRequests(paths: string[]): Router {
  const router = Router();
  // oidc-provider responds to OPTIONS with CORS headers. Express would respond without them.
  router.options(paths, (_request, _response, next) => next('router'));
  router.post(paths, express.urlencoded({ extended: false, limit: maxBody }), (request, _response, next) => {
    if (request.body) request.body = rewriteAuthorizationQuery(request.body);
    next();
  });
  router.use(paths, handleRejectedBody());
  return router;
}
