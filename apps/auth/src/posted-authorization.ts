// `POST /connect/authorize` works like GET (OpenID Connect Core section 3.1.2.1; contract section 6). The library's own switch for it
// would need cookies that travel cross-site; a 303 to the same request as GET needs none.
import express, { type RequestHandler, Router } from 'express';

/** Longer requests would not fit into an address. */
const addressAtMost = 8_000;

export function redirectPostedAuthorization(path: string): Router {
  const redirect: RequestHandler = (request, response) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries((request.body ?? {}) as Record<string, string | string[]>)) {
      for (const entry of Array.isArray(value) ? value : [value]) query.append(name, entry);
    }
    for (const [name, value] of new URL(request.url, 'http://local').searchParams) query.append(name, value);
    const address = `${path}?${query}`;
    if (address.length > addressAtMost) {
      response.status(413).json({ error: 'invalid_request', error_description: 'the request is too long' });
      return;
    }
    response.setHeader('Cache-Control', 'no-store');
    response.redirect(303, address);
  };
  const router = Router();
  router.post(path, express.urlencoded({ extended: false, limit: '16kb', parameterLimit: 100 }), redirect);
  return router;
}
