// Defines the interface of a social provider, and the interface that each type of provider implements.
//
// To add a type, write one object of type `ProviderType` in types/, and add it to `providerTypes` in settings.ts.
import type { SocialIdentity } from '../accounts/social-identity-store.ts';

/** The settings that all types of providers have. Each type has further settings. */
export interface CommonSettings {
  /** The name in `acr_values=idp:NAME` and in the callback address. */
  readonly name: string;
  /** The name of the provider as users see it. */
  readonly title: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** The scopes that we request from the provider, with spaces between them. A type of provider can have a default. */
  readonly scope: string;
  /**
   * Only access tokens that were issued to one of these client ids are accepted from native apps. If the list is empty,
   * none are accepted.
   */
  readonly nativeAudiences: readonly string[];
}

export interface ProviderType<Settings extends CommonSettings> {
  /**
   * The JSON Schema of the settings. `properties` contains the settings that only this type has, and common settings
   * with another default. `required` also names common settings. If SOCIAL_PROVIDERS_FILE leaves a setting out, the
   * setting gets the default in the schema.
   */
  readonly schema: { readonly required: readonly string[]; readonly properties: Readonly<Record<string, object>> };
  /** Creates a provider without sending a request. */
  readonly createProvider: (settings: Settings) => SocialProvider;
}

/**
 * The values that are created for each flow. The authorization request and the token request must use the same values.
 */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  /** The secret of PKCE (RFC 7636). */
  readonly codeVerifier: string;
}

export interface SocialProvider {
  readonly name: string;
  readonly title: string;
  /**
   * Whether native tokens are accepted: access tokens that a native app got from the provider. False if the settings
   * name no app. Also false for the type `oauth2` if the settings name no endpoint that checks the tokens.
   */
  readonly acceptsNativeTokens: boolean;
  /**
   * Returns the address at the provider where the user signs in.
   * @throws {Error} if the provider cannot be reached
   */
  readonly authorizationUrl: (redirectUri: string, secrets: FlowSecrets) => Promise<URL>;
  /**
   * Exchanges the code of the callback for the user's identity.
   * @throws {SignInCancelledError} if the user cancelled at the provider
   * @throws {Error} for every other failure
   */
  readonly redeemCallback: (callbackUrl: URL, secrets: FlowSecrets) => Promise<SocialIdentity>;
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

/**
 * If `unavailable` is true, the provider could not check the token. The same token may be accepted later (503).
 * native-token.ts sets this flag when it converts any other error of a provider.
 */
export class NativeTokenError extends Error {
  override readonly name = 'NativeTokenError';
  readonly unavailable: boolean;

  constructor(message: string, { unavailable = false, cause }: { unavailable?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.unavailable = unavailable;
  }
}
