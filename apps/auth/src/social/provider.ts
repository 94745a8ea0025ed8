// Defines what the rest of the code knows about social providers, and what a type of provider must implement.
//
// To add a type: write one object of type `ProviderType` in types/, and add it to `providerTypes` in settings.ts.
import type { SocialIdentity } from '../accounts/social-identity-store.ts';

/** The settings that every type has. SOCIAL_PROVIDERS_FILE contains them together with those of the type. */
export interface CommonSettings {
  /** The name in `acr_values=idp:NAME` and in the callback address. */
  readonly name: string;
  /** The name that users know. */
  readonly title: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scope: string;
  /** Only access tokens that were issued to one of these client ids are accepted from native apps. */
  readonly nativeAudiences: readonly string[];
}

export interface ProviderType<Settings extends CommonSettings> {
  /** JSON Schema of the settings, without `type`. Its defaults complete the settings. */
  readonly schema: { readonly required: readonly string[]; readonly properties: Readonly<Record<string, object>> };
  /** Sends no request. */
  readonly createProvider: (settings: Settings) => SocialProvider;
}

/** What our authorization request and the request for the token have in common. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string;
}

export interface SocialProvider {
  readonly name: string;
  readonly title: string;
  /** False if no native token can be accepted, because nothing could confirm it. */
  readonly acceptsNativeTokens: boolean;
  /** The address at the provider where the user signs in. @throws {Error} if the provider cannot be reached */
  readonly authorizationUrl: (redirectUri: string, secrets: FlowSecrets) => Promise<URL>;
  /**
   * Exchanges the code of the callback for the user's identity.
   *
   * @throws {SignInCancelledError} if the user cancelled at the provider
   * @throws {Error} for every other failure
   */
  readonly redeemCallback: (callbackUrl: URL, secrets: FlowSecrets) => Promise<SocialIdentity>;
  /**
   * The owner of an access token that a native app got from the provider.
   *
   * @throws {NativeTokenError} if the provider does not confirm that the token is valid and was issued to our app
   * @throws {Error} if the provider could not be asked
   */
  readonly verifyNativeToken: (token: string) => Promise<SocialIdentity>;
}

export class SignInCancelledError extends Error {
  override readonly name = 'SignInCancelledError';
}

/** `unavailable`: the provider could not be asked, so the same token may be accepted later (503). */
export class NativeTokenError extends Error {
  override readonly name = 'NativeTokenError';
  readonly unavailable: boolean;

  constructor(message: string, { unavailable = false, cause }: { unavailable?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.unavailable = unavailable;
  }
}
