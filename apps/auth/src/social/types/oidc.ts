// Implements providers that support OpenID Connect, such as Google. The discovery document is read when it is needed.
import * as openid from 'openid-client';
import type { SocialIdentity } from '../../accounts/social-identity-store.ts';
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
import { buildAuthorizationUrl, createConfiguration, redeemCode, requestTimeoutSeconds } from './code-flow.ts';
import { checkIssuedTo, fetchTokenInfo, textsOf } from './token-info.ts';

interface OidcSettings extends CommonSettings {
  readonly issuer: string;
  /** Checks native tokens (RFC 7662). Default: the endpoint in the discovery document. */
  readonly introspectionEndpoint?: string;
  /** Checks native tokens if the provider, like Google, has no introspection endpoint. */
  readonly tokenInfoEndpoint?: string;
}

export const oidc: ProviderType<OidcSettings> = {
  schema: {
    required: ['issuer', 'clientId'],
    properties: {
      issuer: endpointUrl,
      introspectionEndpoint: endpointUrl,
      tokenInfoEndpoint: endpointUrl,
      scope: { ...nonEmptyText, default: 'openid email profile' },
    },
  },
  createProvider: createOidcProvider,
};

function createOidcProvider(settings: OidcSettings): SocialProvider {
  const { name, title, scope } = settings;
  const discover = cacheDiscovery(settings);
  return {
    name,
    title,
    canConfirm: true,
    acceptsNativeTokens: settings.nativeAudiences.length > 0,

    async authorizationUrl(redirectUri, secrets, mustSignIn) {
      const again: Record<string, string> = mustSignIn ? { prompt: 'login', max_age: '0' } : {};
      const parameters = { redirect_uri: redirectUri, scope, nonce: secrets.nonce, ...again };
      return buildAuthorizationUrl(await discover(), secrets, parameters);
    },

    async redeemCallback(callbackUrl, { state, nonce, codeVerifier }) {
      const configuration = await discover();
      const tokens = await redeemCode(configuration, callbackUrl, {
        expectedState: state,
        pkceCodeVerifier: codeVerifier,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new Error('the token response contains no id_token');
      const identity = identityFrom(name, await addUserinfo(configuration, tokens.access_token, claims));
      return { identity, authTime: claims.auth_time };
    },

    verifyNativeToken: async (token) => verifyNativeToken(settings, await discover(), token),
  };
}

const discoveryLifetimeMs = 3600_000;
/** If reading fails, the last known document is used for this time. */
const retryDiscoveryAfterMs = 60_000;

function cacheDiscovery(settings: OidcSettings): () => Promise<openid.Configuration> {
  let lastKnown: openid.Configuration | undefined;
  let current: { readonly configuration: Promise<openid.Configuration>; readonly expiresAt: number } | undefined;
  const read = async (): Promise<openid.Configuration> => {
    try {
      lastKnown = await discover(settings);
      return lastKnown;
    } catch (error) {
      // Otherwise the failed attempt would be cached for an hour.
      current = lastKnown && {
        configuration: Promise.resolve(lastKnown),
        expiresAt: Date.now() + retryDiscoveryAfterMs,
      };
      if (lastKnown) return lastKnown;
      throw error;
    }
  };
  return () => {
    if (!current || current.expiresAt <= Date.now()) {
      current = { configuration: read(), expiresAt: Date.now() + discoveryLifetimeMs };
    }
    return current.configuration;
  };
}

function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<openid.Configuration> {
  const server = new URL(issuer);
  return openid.discovery(server, clientId, clientSecret, clientAuthentication(clientSecret), {
    // Also applies to all later requests with the configuration.
    timeout: requestTimeoutSeconds,
    ...(server.protocol === 'http:' && { execute: [openid.allowInsecureRequests] }),
  });
}

function clientAuthentication(clientSecret: string | undefined): openid.ClientAuth {
  if (clientSecret === undefined) return openid.None();
  const [basic, post] = [openid.ClientSecretBasic(clientSecret), openid.ClientSecretPost(clientSecret)];
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const authenticate = !methods || methods.includes('client_secret_basic') ? basic : post;
    return authenticate(server, ...request);
  };
}

/**
 * If the request to the userinfo endpoint fails, the claims are returned without a change.
 *
 * @throws {ProfileError} if the response is about another user
 */
async function addUserinfo(
  configuration: openid.Configuration,
  accessToken: string,
  claims: Readonly<Record<string, unknown>> & { readonly sub: string },
): Promise<Readonly<Record<string, unknown>>> {
  if (!configuration.serverMetadata().userinfo_endpoint || (claims.name && claims.email)) return claims;
  // An error of this call is ignored, but a wrong subject must be an error.
  const userinfo = await openid
    .fetchUserInfo(configuration, accessToken, openid.skipSubjectCheck)
    .catch(() => undefined);
  if (userinfo && userinfo.sub !== claims.sub) throw new ProfileError('the userinfo response is about another user');
  // The claims of the token take precedence.
  return { ...userinfo, ...claims };
}

interface TokenFacts {
  /** The client ids of the application that the token was issued to. */
  readonly issuedTo: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

async function verifyNativeToken(
  settings: OidcSettings,
  configuration: openid.Configuration,
  token: string,
): Promise<SocialIdentity> {
  const endpoint = settings.introspectionEndpoint ?? configuration.serverMetadata().introspection_endpoint;
  const { issuedTo, claims } = endpoint
    ? await introspect(settings, configuration, endpoint, token)
    : await readTokenInfo(settings, token);
  checkIssuedTo(issuedTo, settings.nativeAudiences);
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '') throw new NativeTokenError('the token has no user');
  return identityFrom(settings.name, await addUserinfo(configuration, token, { ...claims, sub }));
}

async function introspect(
  settings: OidcSettings,
  configuration: openid.Configuration,
  endpoint: string,
  token: string,
): Promise<TokenFacts> {
  const discovered = configuration.serverMetadata() as openid.ServerMetadata;
  const server = { ...discovered, introspection_endpoint: endpoint };
  const { clientSecret } = settings;
  const authentication = clientSecret === undefined ? openid.None() : openid.ClientSecretBasic(clientSecret);
  const introspection = createConfiguration(server, settings, authentication);
  const facts = await openid.tokenIntrospection(introspection, token, { token_type_hint: 'access_token' });
  if (facts.active !== true) throw new NativeTokenError('the token is not active');
  return { issuedTo: clientsOf([facts.client_id, facts.azp], facts.aud), claims: { sub: facts.sub } };
}

/** Google has the endpoint `tokeninfo` instead of introspection. */
async function readTokenInfo({ tokenInfoEndpoint }: OidcSettings, token: string): Promise<TokenFacts> {
  if (!tokenInfoEndpoint) throw new NativeTokenError('the provider has no endpoint that can check the token');
  const facts = await fetchTokenInfo(tokenInfoEndpoint, { access_token: token });
  if (facts.error) throw new NativeTokenError('the token is not valid');
  const expiresAt = Number(facts.exp);
  if (Number.isFinite(expiresAt) && expiresAt * 1000 <= Date.now()) throw new NativeTokenError('the token has expired');
  return { issuedTo: clientsOf([facts.azp], facts.aud), claims: facts };
}

/** `audience` may contain the recipient of the token, so it is used only if `clientIds` contains no id. */
function clientsOf(clientIds: readonly unknown[], audience: unknown): string[] {
  const clients = textsOf(...clientIds);
  return clients.length > 0 ? clients : textsOf(audience);
}
