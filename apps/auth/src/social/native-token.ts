// Finds the owner of an access token that a native app got from a social provider.
//
// The provider must confirm that the token was issued to one of our own apps. Without this check, the operator of
// another app could sign in here as any user of that app.
import type { Logger } from '@bay-booking/service/logging';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';
import { NativeTokenError, ProfileError, type SocialProvider } from './provider.ts';
import type { SocialProviders } from './settings.ts';

const maxTokenLength = 8_192;

/**
 * If no provider is named, each provider is asked in turn.
 *
 * @throws {NativeTokenError} if no provider confirms the token, or if a provider is unavailable
 */
export async function verifyNativeToken(
  { socialProviders, logger }: { readonly socialProviders: SocialProviders; readonly logger: Logger },
  token: string,
  name: string | undefined,
): Promise<SocialIdentity> {
  const isVisibleAscii = /^[\x21-\x7e]*$/.test(token);
  if (token.length > maxTokenLength || !isVisibleAscii) throw new NativeTokenError('the token is malformed');
  if (name !== undefined) {
    const provider = socialProviders.get(name);
    if (!provider) throw new NativeTokenError(`there is no provider ${name}`);
    return verifyAt(provider, token, logger);
  }
  const errors: NativeTokenError[] = [];
  for (const provider of socialProviders.values()) {
    try {
      return await verifyAt(provider, token, logger);
    } catch (error) {
      errors.push(error as NativeTokenError);
    }
  }
  const unavailable = errors.find((error) => error.unavailable);
  if (unavailable) throw unavailable;
  throw new NativeTokenError(errors.map(({ message }) => message).join('; ') || 'there are no social providers');
}

async function verifyAt(provider: SocialProvider, token: string, logger: Logger): Promise<SocialIdentity> {
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
}
