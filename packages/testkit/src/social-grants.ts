// Issues the codes and access tokens of a stand-in social provider. Stores in memory for which user and client each of
// them was issued.
import { createHash, randomBytes } from 'node:crypto';
import { type SocialUser, socialUsers } from './social-users.ts';

export interface IssuedCode {
  readonly user: SocialUser;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string | undefined;
  readonly nonce: string | undefined;
}

export interface IssuedToken {
  readonly user: SocialUser;
  readonly clientId: string;
  /** The time at which the token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The maximum number of stored codes, and of stored tokens. A full store is emptied. */
const maxEntries = 10_000;

export type SocialGrants = ReturnType<typeof createSocialGrants>;

export function createSocialGrants() {
  const codes = new Map<string, IssuedCode>();
  const tokens = new Map<string, IssuedToken>();

  const add = <T>(map: Map<string, T>, value: T): string => {
    if (map.size >= maxEntries) map.clear();
    const key = randomBytes(24).toString('base64url');
    map.set(key, value);
    return key;
  };

  return {
    findUser: (id: string): SocialUser | undefined => socialUsers.find((user) => user.id === id),

    /** Issues a code for the authorization request with these query parameters. */
    issueCode: (user: SocialUser, request: URLSearchParams): string =>
      add(codes, {
        user,
        clientId: request.get('client_id') ?? '',
        redirectUri: request.get('redirect_uri') ?? '',
        challenge: request.get('code_challenge') ?? undefined,
        nonce: request.get('nonce') ?? undefined,
      }),

    issueToken: (user: SocialUser, clientId: string, lifetimeSeconds = 3600): string =>
      add(tokens, { user, clientId, expiresAt: Date.now() + lifetimeSeconds * 1000 }),

    /**
     * Returns the user and the request of a code, or undefined if the code is invalid. A code works once. If its
     * request had a `code_challenge`, the code works only with the matching `code_verifier` (RFC 7636).
     */
    redeemCode(form: URLSearchParams, clientId: string): IssuedCode | undefined {
      const code = form.get('code') ?? '';
      const issued = codes.get(code);
      codes.delete(code);
      if (!issued || issued.clientId !== clientId || issued.redirectUri !== form.get('redirect_uri')) return undefined;
      const verifier = form.get('code_verifier') ?? '';
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      return issued.challenge === undefined || issued.challenge === challenge ? issued : undefined;
    },

    /** Returns undefined if the token is unknown or has expired. */
    findToken(token: string | null | undefined): IssuedToken | undefined {
      const issued = tokens.get(token ?? '');
      return issued && issued.expiresAt > Date.now() ? issued : undefined;
    },
  };
}
