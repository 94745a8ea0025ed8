// Verifies that a JWT is an access token that this server issued and that has not expired (RFC 9068 section 4).
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';

export interface VerifiedAccessToken {
  readonly claims: JWTPayload;
  readonly clientId: string;
  readonly subject: string;
  readonly scope: string;
  /** Undefined for a token of the grant type client_credentials, which has no grant. */
  readonly grantId: string | undefined;
  /** The thumbprint of the key to which the token is bound. Undefined for a bearer token (RFC 9449 section 6.1). */
  readonly jkt: string | undefined;
}

/** The members of a JWK that contain the private part of a key (RFC 7518 section 6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const;

/**
 * Returns a function that verifies an access token. The function resolves to undefined if the token is not valid.
 * `keys` are the signing keys of this server as public or private JWKs. Only their public part is used.
 */
export function createAccessTokenVerifier({ issuer, keys }: { issuer: string; keys: readonly object[] }) {
  const publicKeys = keys.map((key) =>
    Object.fromEntries(Object.entries(key).filter(([member]) => !privateMembers.includes(member as never))),
  );
  const keySet = createLocalJWKSet({ keys: publicKeys as never });
  return async (token: string): Promise<VerifiedAccessToken | undefined> => {
    try {
      const { payload } = await jwtVerify(token, keySet, { issuer, typ: 'at+jwt', algorithms: ['ES256'] });
      const { sub, client_id: clientId, scope, grant_id: grantId } = payload;
      if (typeof sub !== 'string' || typeof clientId !== 'string') return undefined;
      return {
        claims: payload,
        clientId,
        subject: sub,
        scope: typeof scope === 'string' ? scope : '',
        grantId: typeof grantId === 'string' ? grantId : undefined,
        jkt: (payload.cnf as { jkt?: string } | undefined)?.jkt,
      };
    } catch {
      return undefined;
    }
  };
}
