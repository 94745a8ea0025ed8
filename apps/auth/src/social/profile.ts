// Who does the provider say this is? Its words, however it calls them, become an identity; the user id decides, the rest is decoration.
import * as openid from 'openid-client';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';
import { type Connection, providerTimeout } from './connections.ts';
import type { OAuth2Provider } from './settings.ts';

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= 300 ? value : undefined;

/** The provider has answered, and what it says is no good: asking again would not help. */
export class UnusableProfile extends Error {
  override readonly name = 'UnusableProfile';
}

/** @throws {UnusableProfile} when there is no user id */
export function identityFrom(provider: string, claims: Record<string, unknown>): SocialIdentity {
  const subject = typeof claims.sub === 'number' ? String(claims.sub) : textOf(claims.sub);
  if (subject === undefined) throw new UnusableProfile('the provider named no user id');
  return {
    provider,
    subject,
    name: textOf(claims.name),
    email: textOf(claims.email),
    emailVerified: claims.email_verified === true || claims.email_verified === 'true',
  };
}

/** What userinfo adds to what is known already; nothing when it does not answer. @throws {UnusableProfile} when it speaks of somebody else */
export async function addUserinfo(
  { configuration }: Connection,
  accessToken: string,
  known: Record<string, unknown> & { sub: string },
): Promise<Record<string, unknown>> {
  if (!configuration.serverMetadata().userinfo_endpoint || (known.name && known.email)) return known;
  const more = await openid.fetchUserInfo(configuration, accessToken, openid.skipSubjectCheck).catch(() => undefined);
  if (more && more.sub !== known.sub) throw new UnusableProfile('userinfo is about somebody else');
  return { ...more, ...known };
}

/** @throws {UnusableProfile} when the token is refused @throws {Error} when the provider does not answer with a user otherwise */
export async function fetchOAuth2Profile(
  provider: OAuth2Provider,
  configuration: openid.Configuration,
  accessToken: string,
): Promise<Record<string, unknown>> {
  const response = await openid
    .fetchProtectedResource(
      configuration,
      accessToken,
      new URL(provider.userinfoEndpoint),
      'GET',
      undefined,
      new Headers({ accept: 'application/json' }),
    )
    .catch((error: Error) => {
      if (error instanceof openid.WWWAuthenticateChallengeError) return error.response;
      throw error;
    });
  if ([400, 401].includes(response.status)) throw new UnusableProfile(`userinfo answered ${response.status}`);
  if (!response.ok) throw new Error(`userinfo answered ${response.status}`);
  const body = (await response.json()) as Record<string, unknown>;
  const { sub, name, email } = provider.claims;
  return { sub: body[sub], name: body[name], email: body[email] };
}

/** A JSON answer of an endpoint that is asked by GET, redirects not followed. */
export async function getJson(address: URL): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(address, {
    redirect: 'error',
    signal: AbortSignal.timeout(providerTimeout * 1000),
    headers: { accept: 'application/json' },
  });
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown> | null;
  return { status: response.status, body: body ?? {} };
}
