// Serves the list of revocations, which resource servers need to reject access tokens that have not expired yet
// (docs/behaviour-auth.md, "Revocation").
import { hash } from 'node:crypto';
import { type RequestHandler, Router } from 'express';
import { importJWK, type JWK, SignJWT } from 'jose';
import type { RevocationStore } from './store.ts';

export const revocationsPath = '/.well-known/revocations';
const lifetimeSeconds = 60;
/** The maximum age of a copy that `If-None-Match` confirms. */
const maxCopyAgeSeconds = 30;

export interface SigningKeys {
  /** The private keys. The current key of an algorithm comes first. */
  readonly signingKeys: () => readonly { readonly alg?: string | undefined; readonly kid?: string | undefined }[];
}

export function revocationRoutes(issuer: string, revocations: RevocationStore, { signingKeys }: SigningKeys): Router {
  const serve: RequestHandler = async (request, response) => {
    response.locals.route = revocationsPath;
    const { after = '0' } = request.query;
    if (typeof after !== 'string' || !/^\d{1,15}$/.test(after)) {
      response.status(400).json({ error: 'invalid_request', error_description: 'after must be a number' });
      return;
    }
    const key = signingKeys().find(({ alg }) => alg === 'ES256');
    if (!key?.kid) throw new Error('there is no signing key');
    const { revoked, last, hasMore } = await revocations.readPage(Number(after));
    const claims = { revoked, last, ...(hasMore && { more: true }) };
    const now = Math.floor(Date.now() / 1000);
    const version = JSON.stringify([key.kid, claims, Math.floor(now / maxCopyAgeSeconds)]);
    const etag = `"${hash('sha256', version, 'base64url')}"`;
    response.set({ 'Cache-Control': 'max-age=5', ETag: etag });
    // Express would send the list again if the request also has `Cache-Control: no-cache`, as those of Node.js have.
    if (request.get('If-None-Match')?.includes(etag)) {
      response.status(304).end();
      return;
    }
    const token = new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: key.kid, typ: 'revocations+jwt' })
      .setIssuer(issuer)
      .setIssuedAt(now)
      .setExpirationTime(now + lifetimeSeconds);
    // A text would get a charset.
    response.type('application/jwt').send(Buffer.from(await token.sign(await importJWK(key as JWK, 'ES256'))));
  };

  const router = Router({ caseSensitive: true, strict: true });
  router.get(revocationsPath, serve);
  return router;
}
