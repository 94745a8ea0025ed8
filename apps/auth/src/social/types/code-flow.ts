// Sends the requests of the authorization code flow with PKCE to a provider of any type, with openid-client.
import * as openid from 'openid-client';
import { type FlowSecrets, SignInCancelledError } from '../provider.ts';

/** The timeout of each request to a provider. */
export const requestTimeoutSeconds = 5;

/** Allows plain http: settings.ts accepts it only on this machine, and auth trusts the discovery document. */
export function createConfiguration(
  server: openid.ServerMetadata,
  client: { readonly clientId: string; readonly clientSecret?: string },
  authentication: openid.ClientAuth,
): openid.Configuration {
  const configuration = new openid.Configuration(server, client.clientId, client.clientSecret, authentication);
  configuration.timeout = requestTimeoutSeconds;
  const isHttp = (value: unknown): boolean => typeof value === 'string' && value.startsWith('http:');
  if (Object.values(server).some(isHttp)) openid.allowInsecureRequests(configuration);
  return configuration;
}

export async function buildAuthorizationUrl(
  configuration: openid.Configuration,
  { state, codeVerifier }: FlowSecrets,
  parameters: { readonly redirect_uri: string; readonly scope: string } & Readonly<Record<string, string>>,
): Promise<URL> {
  const { scope, ...others } = parameters;
  return openid.buildAuthorizationUrl(configuration, {
    ...others,
    ...(scope && { scope }),
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
}

/** The error codes with which providers report that the user cancelled. Apple sends `user_cancelled_authorize`. */
const cancelCodes = ['access_denied', 'user_cancelled_authorize'];

/**
 * @throws {SignInCancelledError} if the user cancelled at the provider
 * @throws {Error} for every other failure
 */
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
