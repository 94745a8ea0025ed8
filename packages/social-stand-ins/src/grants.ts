// Issues the codes and access tokens of a stand-in social provider and keeps them in memory.
import { hash, randomBytes } from 'node:crypto';

export interface SocialUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

export const socialUsers: readonly SocialUser[] = [
  { id: '100001', name: 'Ada Fairway', email: 'ada@social.example' },
  { id: '100002', name: 'Ben Bunker', email: 'ben@social.example' },
  // This user has a demo account's e-mail address. Signing in as this user must not give access to that account.
  { id: '100003', name: 'Not Pat Player', email: 'player@example.com' },
];

export interface IssuedCode {
  readonly user: SocialUser;
  readonly redirectUri: string | null;
  readonly challenge: string | null;
  readonly nonce: string | null;
}

export interface IssuedToken {
  readonly user: SocialUser;
  readonly clientId: string;
  readonly expiresAt: number;
}

/** A store with this many codes or tokens is emptied. */
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
    findUser: (id: string | null): SocialUser | undefined => socialUsers.find((user) => user.id === id),

    issueCode: (user: SocialUser, request: URLSearchParams): string =>
      add(codes, {
        user,
        redirectUri: request.get('redirect_uri'),
        challenge: request.get('code_challenge'),
        nonce: request.get('nonce'),
      }),

    issueToken: (user: SocialUser, clientId: string, lifetimeSeconds = 3600): string =>
      add(tokens, { user, clientId, expiresAt: Date.now() + lifetimeSeconds * 1000 }),

    /** A code works once. If it has a `code_challenge`, it needs the matching `code_verifier` (RFC 7636). */
    redeemCode(form: URLSearchParams): IssuedCode | undefined {
      const code = form.get('code') ?? '';
      const issued = codes.get(code);
      codes.delete(code);
      if (!issued || issued.redirectUri !== form.get('redirect_uri')) return undefined;
      const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
      return issued.challenge === null || issued.challenge === challenge ? issued : undefined;
    },

    findToken(token: string | null | undefined): IssuedToken | undefined {
      const issued = tokens.get(token ?? '');
      return issued && issued.expiresAt > Date.now() ? issued : undefined;
    },
  };
}
