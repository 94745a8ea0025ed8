// Converts the claims of a provider to a social identity.
import { hasControlCharacter } from '../accounts/field-rules.ts';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';

/** The response of the provider contains no usable identity. Sending the request again would not help. */
export class ProfileError extends Error {
  override readonly name = 'ProfileError';
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= 300 ? value : undefined;

/** @throws {ProfileError} if the claims contain no user id */
export function identityFrom(provider: string, claims: Readonly<Record<string, unknown>>): SocialIdentity {
  // Some providers send the user id as a number.
  const subject = typeof claims.sub === 'number' ? String(claims.sub) : textOf(claims.sub);
  if (subject === undefined) throw new ProfileError('the response of the provider contains no user id');
  const name = textOf(claims.name);
  return {
    provider,
    subject,
    name: name !== undefined && hasControlCharacter(name) ? undefined : name,
    email: textOf(claims.email),
    // Apple sends the text `true` instead of the boolean.
    emailVerified: claims.email_verified === true || claims.email_verified === 'true',
  };
}
