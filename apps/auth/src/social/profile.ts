// Converts the claims of a provider to a social identity.
import type { SocialIdentity } from '../accounts/social-identity-store.ts';

/** The provider has responded, but not with a usable identity, so a repeated request would not help. */
export class ProfileError extends Error {
  override readonly name = 'ProfileError';
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= 300 ? value : undefined;

/** Only the user id is mandatory. Some providers send it as a number. @throws {ProfileError} without a user id */
export function identityFrom(provider: string, claims: Readonly<Record<string, unknown>>): SocialIdentity {
  const subject = typeof claims.sub === 'number' ? String(claims.sub) : textOf(claims.sub);
  if (subject === undefined) throw new ProfileError('the response of the provider contains no user id');
  return {
    provider,
    subject,
    name: textOf(claims.name),
    email: textOf(claims.email),
    // Apple sends the text `true`.
    emailVerified: claims.email_verified === true || claims.email_verified === 'true',
  };
}
