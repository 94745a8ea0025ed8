// Runs the authorization code flow with PKCE against a provider, for the types that are based on OAuth 2.0.
//
// All requests to providers go through openid-client, with a timeout.
import * as openid from 'openid-client';
import { type FlowSecrets, SignInCancelledError } from '../provider.ts';

/** Seconds. */
export const requestTimeout = 5;

/** Accepts plain http only because settings.ts accepts it only for addresses on this machine. */
export function createConfiguration(
  server: openid.ServerMetadata,
  client: { readonly clientId: string; readonly clientSecret?: string },
  authentication: openid.ClientAuth,
): openid.Configuration {
  const configuration = new openid.Configuration(server, client.clientId, client.clientSecret, authentication);
  configuration.timeout = requestTimeout;
  const isHttp = (value: unknown): boolean => typeof value === 'string' && value.startsWith('http:');
  if (Object.values(server).some(isHttp)) openid.allowInsecureRequests(configuration);
  return configuration;
}

export async function buildAuthorizationUrl(
  configuration: openid.Configuration,
  { state, codeVerifier }: FlowSecrets,
  parameters: { readonly redirect_uri: string; readonly scope: string; readonly nonce?: string },
): Promise<URL> {
  const { scope, ...required } = parameters;
  return openid.buildAuthorizationUrl(configuration, {
    ...required,
    ...(scope && { scope }),
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
}

/** `user_cancelled_authorize` is what Apple sends. */
const cancelCodes = ['access_denied', 'user_cancelled_authorize'];

/** @throws {SignInCancelledError} */
export async function redeemCode(
  configuration: openid.Configuration,
  callbackUrl: URL,
  checks: openid.AuthorizationCodeGrantChecks,
): ReturnType<typeof openid.authorizationCodeGrant> {
  try {
    return await openid.authorizationCodeGrant(configuration, callbackUrl, checks);
  } catch (error) {
    if (error instanceof openid.AuthorizationResponseError && cancelCodes.includes(error.error)) {
      throw new SignInCancelledError('the user cancelled at the provider', { cause: error });
    }
    throw error;
  }
}
