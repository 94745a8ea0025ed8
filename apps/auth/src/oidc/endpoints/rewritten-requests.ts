// Rewrites authorization requests before oidc-provider reads them. Long requests are rejected, because their parameters
// are stored.
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { pageHeaders } from '../../html/response-headers.ts';
import { handleRejectedBody, type RejectedBody } from '../../http/errors.ts';
import { rewriteAuthorizationQuery } from '../authorization/requests.ts';
import type { ProviderPages } from '../pages.ts';

/** In characters. Longer URLs do not work everywhere. */
const maxUrlLength = 8_000;

/**
 * Redirects POST requests for authorization and end-session to GET (OpenID Connect Core section 3.1.2.1). For POST from
 * the site of a client, oidc-provider would need cookies with `SameSite=None`.
 */
export function redirectPostedAuthorization(pages: Pick<ProviderPages, 'error'>, paths: string[]): Router {
  const showError = async (request: Request, response: Response, error: RejectedBody): Promise<void> => {
    response.set(pageHeaders());
    response.status(error.status).send(await pages.error(error, request, response));
  };

  const showTooLong = (request: Request, response: Response, status: 413 | 414): Promise<void> => {
    response.setHeader('Cache-Control', 'no-store');
    const description = `the request is longer than ${maxUrlLength} characters`;
    return showError(request, response, { status, error: 'invalid_request', description });
  };

  const rejectLongUrl: RequestHandler = (request, response, next) =>
    request.url.length > maxUrlLength ? showTooLong(request, response, 414) : next('router');

  const redirect: RequestHandler = (request, response) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries((request.body ?? {}) as Record<string, string | string[]>)) {
      for (const entry of [value].flat()) query.append(name, entry);
    }
    for (const [name, value] of new URL(request.url, 'http://local').searchParams) query.append(name, value);
    const url = `${request.path}?${query}`;
    if (url.length > maxUrlLength) return showTooLong(request, response, 413);
    response.setHeader('Cache-Control', 'no-store');
    response.redirect(303, url);
  };

  const router = Router({ caseSensitive: true, strict: true });
  // Express would respond to OPTIONS with an incomplete list of methods.
  router.options(paths, (_request, _response, next) => next('router'));
  router.get(paths, rejectLongUrl);
  router.post(paths, express.urlencoded({ extended: false, limit: '16kb', parameterLimit: 100 }), redirect);
  router.use(paths, handleRejectedBody(showError));
  return router;
}

/** In bytes. */
const maxBody = 16_384;

/**
 * Rewrites pushed (RFC 9126) and device authorization requests (RFC 8628) like those of the authorization endpoint.
 * Anybody can send them for a public client.
 */
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
