// What has a stand-in social provider issued? Codes that work once, and access tokens with whose they are and for which application.
import { createHash, randomBytes } from 'node:crypto';
import { type SocialUser, socialUsers } from './social-users.ts';

export interface CodeFacts {
  readonly person: SocialUser;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string | undefined;
  readonly nonce: string | undefined;
}

export interface TokenFacts {
  readonly person: SocialUser;
  readonly clientId: string;
  readonly expiresAt: number;
}

const atMost = 10_000;
const random = (): string => randomBytes(24).toString('base64url');

export function createSocialGrants() {
  const codes = new Map<string, CodeFacts>();
  const tokens = new Map<string, TokenFacts>();

  const keep = <T>(map: Map<string, T>, value: T): string => {
    if (map.size >= atMost) map.clear();
    const key = random();
    map.set(key, value);
    return key;
  };

  return {
    person: (id: string): SocialUser | undefined => socialUsers.find((person) => person.id === id),
    issueCode: (facts: CodeFacts): string => keep(codes, facts),
    issueToken: (person: SocialUser, clientId: string, lifetime = 3600): string =>
      keep(tokens, { person, clientId, expiresAt: Date.now() + lifetime * 1000 }),

    /** Once, and only with the verifier of its challenge (RFC 7636). */
    redeem(form: URLSearchParams, clientId: string): CodeFacts | undefined {
      const code = form.get('code') ?? '';
      const facts = codes.get(code);
      codes.delete(code);
      if (!facts || facts.clientId !== clientId || facts.redirectUri !== form.get('redirect_uri')) return undefined;
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      return facts.challenge === undefined || facts.challenge === challenge ? facts : undefined;
    },

    live(token: string | null | undefined): TokenFacts | undefined {
      const facts = tokens.get(token ?? '');
      return facts && facts.expiresAt > Date.now() ? facts : undefined;
    },
  };
}

export type SocialGrants = ReturnType<typeof createSocialGrants>;
