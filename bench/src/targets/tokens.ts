// Verifies access tokens for the targets as the service does: each signature once, and the list of revocations with
// every request.
import { createPublicKey, hash, type JsonWebKey } from 'node:crypto';
import jwt from 'jsonwebtoken';
import type { PeerOptions } from './program.ts';

export interface Caller {
  readonly clientId: string;
  readonly subject: string;
  readonly facilities: readonly string[];
}

export class HttpError extends Error {
  readonly statusCode: number;
  constructor(statusCode: number) {
    super(`status ${statusCode}`);
    this.statusCode = statusCode;
  }
}

/** The returned function throws an HttpError if the Authorization header has no token that permits the request. */
export async function createVerifier({ jwksUri, issuer, audience, scope }: PeerOptions) {
  const { keys } = (await (await fetch(jwksUri)).json()) as { keys: [JsonWebKey] };
  const key = createPublicKey({ key: keys[0], format: 'jwk' });
  const verified = new Map<string, ReturnType<typeof verify>>();
  const revoked = new Map<string, number>();

  const readRevocations = async (): Promise<void> => {
    const list = await (await fetch(`${issuer}/.well-known/revocations`)).text();
    const claims = jwt.verify(list, key, { algorithms: ['ES256'], issuer }) as jwt.JwtPayload;
    for (const { id, before } of claims.revoked) revoked.set(id, before);
  };
  await readRevocations();
  setInterval(() => readRevocations().catch(() => {}), 5_000).unref();

  function verify(authorization: string) {
    const token = authorization.slice('Bearer '.length);
    const claims = jwt.verify(token, key, { algorithms: ['ES256'], issuer, audience }) as jwt.JwtPayload;
    const { client_id: clientId, sub: subject = clientId, facilities, jti, grant_id: grantId } = claims;
    const rights = [`token ${jti}`, `client ${clientId}`, `grant ${grantId}`, `account ${subject}`].concat(
      facilities.map((facility: string) => `access ${subject} ${facility}`),
    );
    return {
      clientId,
      subject,
      facilities,
      isPermitted: claims.scope.split(' ').includes(scope),
      issuedAt: claims.iat ?? 0,
      expiresAt: (claims.exp ?? 0) * 1000,
      /** The hashes under which the list of revocations can contain the token. */
      rights: rights.map((right) => hash('sha256', right, 'base64url')),
    };
  }

  return (authorization = ''): Caller => {
    let token = verified.get(authorization);
    if (!token) {
      try {
        token = verify(authorization);
      } catch {
        throw new HttpError(401);
      }
      verified.set(authorization, token);
    }
    const { expiresAt, issuedAt, rights, isPermitted } = token;
    if (expiresAt < Date.now() || rights.some((id) => issuedAt < (revoked.get(id) ?? 0))) throw new HttpError(401);
    if (!isPermitted) throw new HttpError(403);
    return token;
  };
}
