// Rewrites pushed authorization requests (RFC 9126) and device authorization requests (RFC 8628) before oidc-provider
// handles these requests. Their parameters are changed like those of requests to the authorization endpoint
// (authorization-request.ts). The library uses the changed body instead of reading the body of the request.
//
// Long requests are rejected, because the server stores their parameters. A public client needs no authentication, so
// anybody could otherwise fill the database.
import express, { Router } from 'express';
import { handleRejectedBody } from '../../http/rejected-body.ts';
import { rewriteAuthorizationQuery } from '../authorization/requests.ts';

/** The maximum length of a body in bytes: about twice the length that the authorization endpoint accepts. */
const maxBody = 16_384;

export function rewritePushedRequests(paths: string[]): Router {
  const router = Router();
  // Leaves OPTIONS requests to oidc-provider, which adds CORS headers. Without this line, Express would respond itself,
  // without these headers, and browsers would not let web pages send the POST requests below.
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
