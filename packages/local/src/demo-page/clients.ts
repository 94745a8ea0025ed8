// Builds the sign-in URLs of the demo's clients.
import { hash, randomBytes } from 'node:crypto';
import type { Client, readDemo } from '../demo.ts';

export interface Demo extends ReturnType<typeof readDemo> {
  readonly auth: string;
  readonly bookings: string;
  readonly socialNames: readonly string[];
  /** The URL of the stand-ins, unless SOCIAL_PROVIDERS_FILE names other providers. */
  readonly standIns: string | undefined;
  readonly booking: string;
}

/** The demo's redirect URIs have this origin, even if DEMO_PORT is another port. */
const redirectOrigin = 'http://localhost:4010';

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** One PKCE verifier serves all links. */
export const codeVerifier = randomBytes(32).toString('base64url');
const codeChallenge = hash('sha256', codeVerifier, 'base64url');

export const requiresPkce = (client: Client): boolean => client.pkce !== 'optional';
export const customScopes = (client: Client): readonly string[] =>
  client.scope.split(' ').filter((scope) => scope.includes('/'));

export const clientsAt = ({ clients }: Demo, path: string): readonly Client[] =>
  clients.filter((client) => client.redirect_uris.includes(redirectOrigin + path));

export const isSignedOutPath = ({ clients }: Demo, path: string): boolean =>
  clients.some(({ post_logout_redirect_uris: uris }) => uris?.includes(redirectOrigin + path));

export const redirectUriOf = (client: Client): string | undefined =>
  client.redirect_uris.find((uri) => uri.startsWith(`${redirectOrigin}/`));

/** `state` is the client's id: the page at the redirect URI must know which client sent the user. */
export function authorizationParameters(client: Client, changes: Record<string, string> = {}): URLSearchParams {
  return new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUriOf(client) ?? '',
    scope: client.scope,
    state: client.client_id,
    ...changes,
  });
}

export function signInLinks({ auth, socialNames }: Demo, client: Client) {
  const query = `client_id=${client.client_id}`;
  if (client.grant_types.includes(deviceGrant)) return [{ text: 'device', href: `/device?${query}` }];
  if (redirectUriOf(client) === undefined) return [];
  if (client.profile) return [{ text: 'code, pushed request', href: `/pushed?${query}` }];
  const link = (text: string, changes: Record<string, string>) => ({
    text,
    href: `${auth}/connect/authorize?${authorizationParameters(client, changes)}`,
  });
  const links = client.response_types.map((responseType) => {
    if (responseType === 'code') return link('code', pkceOf(client));
    // Only a response with an id_token can carry the other scopes. The implicit flow has no refresh tokens.
    const scope = responseType.includes('id_token') ? client.scope.replace('offline_access ', '') : undefined;
    return link(`implicit: ${responseType}`, {
      response_type: responseType,
      scope: scope ?? customScopes(client).join(' '),
      ...(scope && { nonce: randomBytes(8).toString('hex') }),
    });
  });
  const social = client.response_types.includes('code') ? socialNames : [];
  return [...links, ...social.map((name) => link(`social: ${name}`, { ...pkceOf(client), acr_values: `idp:${name}` }))];
}

export const pkceOf = (client: Client): Record<string, string> =>
  requiresPkce(client) ? { code_challenge: codeChallenge, code_challenge_method: 'S256' } : {};
