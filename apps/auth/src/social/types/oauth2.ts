// Implements providers that support OAuth 2.0 without OpenID Connect, such as Facebook and GitHub.
import * as openid from 'openid-client';
import {
  type CommonSettings,
  endpointUrl,
  identityFrom,
  NativeTokenError,
  nonEmptyText,
  ProfileError,
  type ProviderType,
  type SocialProvider,
} from '../provider.ts';
import { buildAuthorizationUrl, createConfiguration, redeemCode } from './code-flow.ts';
import { checkIssuedTo, fetchTokenInfo, textsOf } from './token-info.ts';

interface OAuth2Settings extends CommonSettings {
  readonly clientSecret: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint: string;
  /** Checks native tokens, with the parameters and the response of Facebook's `debug_token`. */
  readonly tokenInfoEndpoint?: string;
  /** The members of the userinfo response that contain the user id, the name and the e-mail address. */
  readonly claims: { readonly sub: string; readonly name: string; readonly email: string };
}

const member = (name: string) => ({ ...nonEmptyText, default: name });

export const oauth2: ProviderType<OAuth2Settings> = {
  schema: {
    required: ['authorizationEndpoint', 'tokenEndpoint', 'userinfoEndpoint', 'clientId', 'clientSecret'],
    properties: {
      authorizationEndpoint: endpointUrl,
      tokenEndpoint: endpointUrl,
      userinfoEndpoint: endpointUrl,
      tokenInfoEndpoint: endpointUrl,
      claims: {
        type: 'object',
        additionalProperties: false,
        default: {},
        properties: { sub: member('id'), name: member('name'), email: member('email') },
      },
    },
  },
  createProvider: createOAuth2Provider,
};

function createOAuth2Provider(settings: OAuth2Settings): SocialProvider {
  const { name, title, scope, tokenInfoEndpoint } = settings;
  const { authorizationEndpoint, tokenEndpoint, clientId, clientSecret } = settings;
  const configuration = createConfiguration(
    {
      // openid-client requires an issuer, which an OAuth 2.0 provider without discovery does not have.
      issuer: new URL(authorizationEndpoint).origin,
      authorization_endpoint: authorizationEndpoint,
      token_endpoint: tokenEndpoint,
    },
    settings,
    openid.ClientSecretPost(clientSecret),
  );
  return {
    name,
    title,
    canConfirm: false,
    acceptsNativeTokens: tokenInfoEndpoint !== undefined && settings.nativeAudiences.length > 0,

    authorizationUrl: (redirectUri, secrets) =>
      buildAuthorizationUrl(configuration, secrets, { redirect_uri: redirectUri, scope }),

    async redeemCallback(callbackUrl, { state, codeVerifier }) {
      const checks = { expectedState: state, pkceCodeVerifier: codeVerifier };
      const tokens = await redeemCode(configuration, callbackUrl, checks);
      return { identity: identityFrom(name, await fetchProfile(settings, configuration, tokens.access_token)) };
    },

    async verifyNativeToken(token) {
      if (!tokenInfoEndpoint) throw new NativeTokenError('the provider has no endpoint that can check the token');
      const { data } = await fetchTokenInfo(tokenInfoEndpoint, {
        input_token: token,
        // Facebook accepts this string as the application's own access token.
        access_token: `${clientId}|${clientSecret}`,
      });
      const tokenInfo = (data ?? {}) as Readonly<Record<string, unknown>>;
      if (tokenInfo.is_valid !== true) throw new NativeTokenError('the token is not valid');
      checkIssuedTo(textsOf(tokenInfo.app_id), settings.nativeAudiences);
      const identity = identityFrom(name, await fetchProfile(settings, configuration, token));
      if (identity.subject !== String(tokenInfo.user_id)) {
        throw new NativeTokenError('the token and the profile belong to different users');
      }
      return identity;
    },
  };
}

/**
 * @throws {ProfileError} if the provider rejects the token
 * @throws {Error} if the provider does not respond, or responds with another error
 */
async function fetchProfile(
  { userinfoEndpoint, claims }: OAuth2Settings,
  configuration: openid.Configuration,
  accessToken: string,
): Promise<Readonly<Record<string, unknown>>> {
  const headers = new Headers({ accept: 'application/json' });
  const response = await openid
    .fetchProtectedResource(configuration, accessToken, new URL(userinfoEndpoint), 'GET', undefined, headers)
    .catch((error: Error) => {
      // openid-client throws this error for every response with the header WWW-Authenticate.
      if (error instanceof openid.WWWAuthenticateChallengeError) return error.response;
      throw error;
    });
  if ([400, 401].includes(response.status)) throw new ProfileError(`userinfo returned ${response.status}`);
  if (!response.ok) throw new Error(`userinfo returned ${response.status}`);
  const profile = (await response.json()) as Record<string, unknown>;
  return { sub: profile[claims.sub], name: profile[claims.name], email: profile[claims.email] };
}
