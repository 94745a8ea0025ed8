// Rewrites pushed authorization requests (RFC 9126) and device authorization requests (RFC 8628) before oidc-provider
// handles them. The same changes are made as for requests to the authorization endpoint (authorization-request.ts). The
// library then uses the parsed body instead of reading the request again.
//
// Long requests are rejected. Their parameters are stored, and a public client can send them without authentication.
import express, { Router } from 'express';
import { handleRejectedBody } from '../../http/rejected-body.ts';
import { rewriteAuthorizationQuery } from '../authorization-request.ts';
import '../library-warnings.ts';

/**
 * The maximum length of a body in bytes. It is about twice the limit of the authorization endpoint, which is 8,000
 * characters.
 */
const maxBody = 16_384;

export function rewritePushedRequests(paths: string[]): Router {
  const router = Router();
  // Without this line, Express would respond to OPTIONS requests itself, without CORS headers. Web pages could then not
  // push requests.
  router.options(paths, (_request, _response, next) => next('router'));
  router.post(paths, express.urlencoded({ extended: false, limit: maxBody }), (request, _response, next) => {
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
