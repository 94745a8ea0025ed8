// Verifies that a JWT is an access token that this server issued and that has not expired (RFC 9068 section 4).
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';

export interface VerifiedAccessToken {
  readonly claims: JWTPayload;
  readonly clientId: string;
  readonly subject: string;
  readonly scope: string;
  /** Undefined for client_credentials. */
  readonly grantId: string | undefined;
  /** Undefined for a bearer token (RFC 9449 section 6.1). */
  readonly jkt: string | undefined;
}

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const;

/** Resolves to undefined if the token is not valid. */
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
