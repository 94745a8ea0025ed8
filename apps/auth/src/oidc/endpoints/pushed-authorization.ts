// Rewrites pushed authorization requests (RFC 9126) and device authorization requests (RFC 8628) before oidc-provider
// reads them, in the same way as requests to the authorization endpoint (authorization-request.ts). The library reads
// the body from here.
//
// Public clients may send these requests without authentication, and their parameters are stored. So long requests are
// refused.
import express, { Router } from 'express';
import { handleRejectedBody } from '../../http/rejected-body.ts';
import { rewriteAuthorizationQuery } from '../authorization-request.ts';
import '../library-warnings.ts';

/** Bytes. The parameters of a request to the authorization endpoint have 8,000 characters at most. */
const maxBody = 16_384;

export function rewritePushedRequests(paths: string[]): Router {
  const router = Router();
  // Without this, Express answers OPTIONS itself, and a web page could not push a request.
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
