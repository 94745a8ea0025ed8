// `POST` to an endpoint that a browser is sent to works like GET: authorization (OpenID Connect Core section 3.1.2.1; contract section 6)
// and end of session (OpenID Connect RP-Initiated Logout 1.0 section 2). The library's own switch for it would need cookies that travel
// cross-site; a 303 to the same request as GET needs none.
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { sendHtml } from '../../html/response-headers.ts';
import { handleRejectedBody, type RejectedBody } from '../../http/rejected-body.ts';
import type { ProviderPages } from '../pages.ts';

/** Longer requests would not fit into an address. */
const addressAtMost = 8_000;

export function redirectPostedAuthorization(pages: Pick<ProviderPages, 'error'>, ...paths: readonly string[]): Router {
  const showRefusal = async (request: Request, response: Response, refused: RejectedBody): Promise<void> =>
    sendHtml(response, await pages.error(refused, request, response), { status: refused.status });
  const redirect: RequestHandler = (request, response) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries((request.body ?? {}) as Record<string, string | string[]>)) {
      for (const entry of Array.isArray(value) ? value : [value]) query.append(name, entry);
    }
    for (const [name, value] of new URL(request.url, 'http://local').searchParams) query.append(name, value);
    const address = `${request.path}?${query}`;
    if (address.length > addressAtMost) {
      return showRefusal(request, response, {
        status: 413,
        error: 'invalid_request',
        description: 'the request is too long',
      });
    }
    response.setHeader('Cache-Control', 'no-store');
    response.redirect(303, address);
  };
  const router = Router({ caseSensitive: true, strict: true });
  // Express would speak for what is routed here alone.
  router.options([...paths], (_request, _response, next) => next('router'));
  router.post([...paths], express.urlencoded({ extended: false, limit: '16kb', parameterLimit: 100 }), redirect);
  router.use([...paths], handleRejectedBody(showRefusal));
  return router;
}
