// Finds the owner of an access token that a native app got from a social provider.
//
// The provider must confirm that the token was issued to one of our own apps. Without this check, the operator of
// another app could sign in here as any user of that app.
import type { Logger } from '@bay-booking/service/logging';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';
import { ProfileError } from './profile.ts';
import { NativeTokenError, type SocialProvider } from './provider.ts';
import type { SocialProviders } from './settings.ts';

export interface NativeToken {
  readonly token: string;
  /** The name of the provider that issued the token. If it is left out, each provider is tried in turn. */
  readonly provider?: string;
}

export interface NativeTokenVerifier {
  /** @throws {NativeTokenError} if no provider confirms the token, or if a provider is unavailable */
  readonly verifyNativeToken: (native: NativeToken) => Promise<SocialIdentity>;
}

export interface NativeTokenVerifierOptions {
  readonly providers: SocialProviders;
  readonly logger: Logger;
}

const maxTokenLength = 8_192;

export function createNativeTokenVerifier(options: NativeTokenVerifierOptions): NativeTokenVerifier {
  const { providers, logger } = options;

  const verifyAt = async (provider: SocialProvider, token: string): Promise<SocialIdentity> => {
    const { name } = provider;
    // Otherwise the response would be a 503 while this provider is unavailable.
    if (!provider.acceptsNativeTokens) throw new NativeTokenError(`${name} does not accept native tokens`);
    try {
      return await provider.verifyNativeToken(token);
    } catch (cause) {
      const { message } = cause as Error;
      if (cause instanceof NativeTokenError || cause instanceof ProfileError) {
        throw new NativeTokenError(`${name}: ${message}`, { cause });
      }
      logger.warn({ provider: name, reason: message }, 'social provider could not check a token');
      throw new NativeTokenError(`${name} could not check the token`, { unavailable: true, cause });
    }
  };

  return {
    async verifyNativeToken({ token, provider: name }) {
      const isVisibleAscii = /^[\x21-\x7e]*$/.test(token);
      if (token.length > maxTokenLength || !isVisibleAscii) {
        throw new NativeTokenError('the token is malformed');
      }
      if (name !== undefined) {
        const provider = providers.get(name);
        if (!provider) throw new NativeTokenError(`there is no provider ${name}`);
        return verifyAt(provider, token);
      }
      const errors: NativeTokenError[] = [];
      for (const provider of providers.values()) {
        try {
          return await verifyAt(provider, token);
        } catch (error) {
          errors.push(error as NativeTokenError);
        }
      }
      const unavailable = errors.find((error) => error.unavailable);
      if (unavailable) throw unavailable;
      throw new NativeTokenError(errors.map(({ message }) => message).join('; ') || 'there are no social providers');
    },
  };
}
