// Defines the interface of a social provider, and of a type of providers in types/, and checks the profile of a user.
import { isText } from '@bay-booking/common/text';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';
import { isEmailAddress, validateName } from '../input/field-rules.ts';

/** The settings that all types of providers have. Each type has further settings. */
export interface CommonSettings {
  /** As in `acr_values=idp:NAME` and in the callback URL. */
  readonly name: string;
  /** The name of the provider as users see it. */
  readonly title: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scope: string;
  /** Native apps may send access tokens that were issued to one of these client ids. */
  readonly nativeAudiences: readonly string[];
}

export interface ProviderType<Settings extends CommonSettings> {
  /** The JSON Schema of the settings that only this type has, and of common settings with another default. */
  readonly schema: { readonly required: readonly string[]; readonly properties: Readonly<Record<string, object>> };
  readonly createProvider: (settings: Settings) => SocialProvider;
}

/** The authorization request and the token request of a flow must use the same values. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface SocialProvider {
  readonly name: string;
  readonly title: string;
  /** Whether the settings name our native apps, and an endpoint that checks their access tokens. */
  readonly acceptsNativeTokens: boolean;
  /** Whether the provider can make users sign in again, and says when they did (OpenID Connect Core `max_age`). */
  readonly canConfirm: boolean;
  /**
   * If `mustSignIn`, the user must sign in again at a provider that `canConfirm`.
   * @throws {Error} if the provider cannot be reached
   */
  readonly authorizationUrl: (redirectUri: string, secrets: FlowSecrets, mustSignIn?: boolean) => Promise<URL>;
  /**
   * Exchanges the code of the callback for the user's identity. `authTime`, in seconds since 1970, is missing if the
   * provider does not say when the user signed in.
   * @throws {SignInCancelledError} if the user cancelled at the provider
   * @throws {Error} for every other failure
   */
  readonly redeemCallback: (
    callbackUrl: URL,
    secrets: FlowSecrets,
  ) => Promise<{ readonly identity: SocialIdentity; readonly authTime?: number | undefined }>;
  /**
   * Returns the owner of an access token that a native app got from the provider.
   * @throws {NativeTokenError} if the provider does not confirm that the token is valid and was issued to our app
   * @throws {ProfileError} if the provider returns no usable identity for the token
   * @throws {Error} if the provider is unavailable
   */
  readonly verifyNativeToken: (token: string) => Promise<SocialIdentity>;
}

export class SignInCancelledError extends Error {
  override readonly name = 'SignInCancelledError';
}

/** If `unavailable` is true, the provider could not check the token. The same token may be accepted later (503). */
export class NativeTokenError extends Error {
  override readonly name = 'NativeTokenError';
  readonly unavailable: boolean;

  constructor(message: string, { unavailable = false, cause }: { unavailable?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.unavailable = unavailable;
  }
}

/** JSON Schemas that the settings of all types use. */
export const endpointUrl = { type: 'string', format: 'uri', pattern: '^https?://' } as const;
export const nonEmptyText = { type: 'string', minLength: 1 } as const;

/** The response of the provider contains no usable identity. Sending the request again would not help. */
export class ProfileError extends Error {
  override readonly name = 'ProfileError';
}

const textOf = (value: unknown, isValid = isText): string | undefined =>
  typeof value === 'string' && value.length <= 300 && isValid(value) ? value : undefined;

/** What nobody could register with is left out, as an export must be a valid import. */
const isName = (text: string): boolean => validateName(text, 'missing') === undefined;

/** @throws {ProfileError} if the claims contain no user id */
export function identityFrom(provider: string, claims: Readonly<Record<string, unknown>>): SocialIdentity {
  // Some providers send the user id as a number. Several large integers are the same number in JavaScript.
  const subject = Number.isSafeInteger(claims.sub) ? String(claims.sub) : textOf(claims.sub);
  if (subject === undefined) throw new ProfileError('the response of the provider contains no user id');
  return {
    provider,
    subject,
    name: textOf(claims.name, isName),
    email: textOf(claims.email, isEmailAddress),
    // Apple sends the string `true` instead of the boolean.
    emailVerified: claims.email_verified === true || claims.email_verified === 'true',
  };
}
