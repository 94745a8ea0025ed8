// Configures oidc-provider, together with clients/schema.ts. README.md lists where we change the library's behaviour.
//
// The signing keys of a provider cannot change. When the keys rotate, provider-manager.ts creates a new provider.
import { type Adapter, type Configuration, errors, type JWK, Provider } from 'oidc-provider';
import type { ClientStore } from '../clients/store.ts';
import type { FacilityStore } from '../facilities/store.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { loadExistingGrant } from './authorization/consent-grants.ts';
import { addPollInterval, createDeviceFlow } from './authorization/device-flow.ts';
import { limitToAllowedScopes } from './authorization/granted-scope.ts';
import { deleteImplicitCodes, isImplicitToken, publishedResponseTypes } from './authorization/implicit-flow.ts';
import { createInteractionPolicy } from './authorization/interaction-policy.ts';
import { createRequestCheck, idpParameter, rewriteAuthorizationRequests } from './authorization/requests.ts';
import { checkClientAssertion } from './clients/assertions.ts';
import { allowLoopbackRedirects } from './clients/loopback-redirects.ts';
import { applyClientPolicy } from './clients/policy.ts';
import { allowedScopes, ownMetadataOf } from './clients/registered-client.ts';
import { clientSettings, features } from './clients/schema.ts';
import { hostCookieName } from './cookies.ts';
import { mayInspect, registerJwtIntrospection } from './endpoints/introspection.ts';
import { registerEventListeners } from './event-listeners.ts';
import { type PasswordGrantOptions, registerPasswordGrant } from './grants/password.ts';
import { registerSocialGrant, type SocialGrantOptions } from './grants/social-access-token.ts';
import { type ProviderPages, requesterOf, showPage } from './pages.ts';
import { routes } from './paths.ts';
import { requestState } from './request-state.ts';
import { registerResponseMiddleware } from './responses/middleware.ts';
import { offlineAccess, type ScopeTable, splitScope } from './scopes.ts';
import { sessionTtl } from './sessions.ts';
import type { ArtifactStore } from './storage/artifacts.ts';
import { createExtraTokenClaims, customizeJwt } from './tokens/access-token-claims.ts';
import { claimsOf, type ProviderAccount } from './tokens/claims.ts';
import { nonceSecretOf } from './tokens/dpop.ts';
import {
  createFacilitiesClaim,
  type FacilitiesClaim,
  selectFacilitiesBeforeConsume,
} from './tokens/facilities-claim.ts';
import { disableAutomaticLogoutTokens } from './tokens/logout-tokens.ts';
import { type RecordFirstUse, registerReplayDetection } from './tokens/replay-detection.ts';
import type { ResourceServer } from './tokens/resource-server.ts';
import type { TokenLifetimes } from './tokens/token-lifetimes.ts';
import { orUnavailable } from './unavailable.ts';

export interface ProviderDependencies extends SharedServices {
  // Rules and settings.
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly lifetimes: TokenLifetimes;
  readonly limit: RateLimit;

  // Storage of sessions, grants, codes and tokens.
  readonly adapter: (model: string) => Adapter;
  readonly revokeGrant: ArtifactStore['revokeGrant'];
  readonly recordFirstUse: RecordFirstUse;

  // Accounts, their facilities, and the grant types that our own code handles.
  readonly facilities: FacilityStore;
  readonly findAccount: (id: string) => Promise<ProviderAccount | undefined>;
  readonly recordUse: ClientStore['recordUse'];
  readonly proofs: PasswordGrantOptions['proofs'];
  readonly signIn: PasswordGrantOptions['signIn'];
  readonly verifyNativeToken: SocialGrantOptions['verifyNativeToken'];
  readonly beginSocialAttempt: SocialGrantOptions['beginSocialAttempt'];
  readonly findOrCreateSocialAccount: SocialGrantOptions['findOrCreateSocialAccount'];
  readonly isSocialProvider: (name: string) => boolean;

  readonly pages: ProviderPages;
  /** Sends the requests of oidc-provider, for example to the key sets and logout addresses of clients. */
  readonly fetch: Configuration['fetch'];
}

/**
 * Creates the provider, and registers everything that changes its behaviour. `keys` are private JWKs. For each
 * algorithm, oidc-provider signs with the first key.
 */
export function createProvider(dependencies: ProviderDependencies, keys: readonly JWK[]): Provider {
  const { config, scopes, resource, findAccount, revokeGrant, audit, recordUse } = dependencies;
  const facilitiesClaim = createFacilitiesClaim(dependencies.facilities, scopes);
  const provider = new Provider(config.issuer, createConfiguration(dependencies, keys, facilitiesClaim));
  // Makes Koa read the X-Forwarded-* headers. They can be trusted, because http/trusted-host.ts has overwritten them.
  provider.proxy = true;

  registerMiddleware(provider, dependencies);
  registerJwtIntrospection(provider, { revokeGrant, keys, findAccount });
  addPollInterval(provider);
  registerEventListeners(provider, { audience: resource.audience, audit, recordUse });

  // Changes of oidc-provider's behaviour, which README.md explains.
  selectFacilitiesBeforeConsume(provider, facilitiesClaim);
  applyClientPolicy(provider, { limit: dependencies.limit, scopes });
  registerReplayDetection(provider, dependencies.recordFirstUse);
  disableAutomaticLogoutTokens(provider);
  if (config.isDevelopment) allowLoopbackRedirects(provider);

  // The grant types that our own code handles (clients/grant-types.ts)
  registerPasswordGrant(provider, dependencies);
  registerSocialGrant(provider, dependencies);
  return provider;
}

function createConfiguration(
  dependencies: ProviderDependencies,
  keys: readonly JWK[],
  facilitiesClaim: FacilitiesClaim,
): Configuration {
  const { config, resource, lifetimes, pages, logger } = dependencies;
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true } as const;

  return {
    adapter: dependencies.adapter,
    jwks: { keys: [...keys] },
    routes,
    ...clientSettings,
    // Makes the id_token contain all granted claims. With `true`, some would only be in the response of userinfo.
    conformIdTokenClaims: false,
    assertJwtClientAuthClaimsAndHeader: checkClientAssertion,
    // The seconds by which the clock of a client may differ (FAPI 2.0 Security Profile section 5.3.2.1).
    clockTolerance: 10,
    // Every request must contain a redirect URI, and it must be one of the registered URIs (RFC 9700 section 2.1).
    allowOmittingSingleRegisteredRedirectUri: false,
    cookies: {
      keys: [...config.cookieKeys],
      // Only the session cookie can have the prefix `__Host-`, which requires the path `/`. The cookies of an
      // interaction have other paths.
      names: { session: hostCookieName(config.issuer, '_session') },
      long: cookie,
      short: cookie,
    },
    ttl: {
      AccessToken: (_ctx, _token, client) => lifetimes.accessToken(client),
      ClientCredentials: (_ctx, _token, client) => lifetimes.accessToken(client),
      AuthorizationCode: lifetimes.code,
      DeviceCode: lifetimes.deviceCode,
      IdToken: lifetimes.idToken,
      RefreshToken: lifetimes.refreshToken,
      Interaction: lifetimes.interaction,
      Session: sessionTtl,
      // A grant without a refresh token has a shorter lifetime, which grants/issue.ts stores in `expiresIn`.
      Grant: (_ctx, grant) => (grant as { expiresIn?: number }).expiresIn ?? lifetimes.grant,
    },
    findAccount: createFindAccount(dependencies, facilitiesClaim),
    loadExistingGrant,
    interactions: {
      policy: createInteractionPolicy(resource.audience),
      url: (_ctx, interaction) => `/interaction/${interaction.uid}`,
    },
    extraParams: { [idpParameter]: createRequestCheck(dependencies.isSocialProvider) },
    extraTokenClaims: createExtraTokenClaims(facilitiesClaim),
    formats: { customizers: { jwt: customizeJwt } },
    pkce: {
      required: (ctx, client) =>
        ownMetadataOf(client).pkce === 'required' && !isImplicitToken(ctx.oidc.params?.response_type),
    },
    // Tokens stay valid when the session of the browser ends.
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    issueRefreshToken: (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') && source.scopes.has(offlineAccess),
    // oidc-provider would reject requests of other origins. machine-endpoints.ts decides which pages may read a response.
    clientBasedCORS: () => false,
    renderError: async (ctx, out, error) => {
      const { status } = ctx;
      // oidc-provider sets `expose` for errors with a status below 500. Any other error is a failure of this server.
      if (!('expose' in error && error.expose)) logger.error({ err: error, path: ctx.path }, 'request failed');
      const description = out.error_description ?? 'The request is not valid.';
      const page = { status, error: out.error, description, ...requesterOf(ctx) };
      showPage(ctx, pages, await pages.error(page, ctx.req, ctx.res), { status });
    },
    fetch: dependencies.fetch,
    features: createFeatures(dependencies),
  };
}

function createFeatures({
  config,
  pages,
  audit,
  resource,
}: ProviderDependencies): NonNullable<Configuration['features']> {
  const hasCustomScope = (scope: unknown): boolean => splitScope(scope as string | undefined).some(resource.isCustom);
  return {
    ...features,
    dPoP: { ...features.dPoP, nonceSecret: nonceSecretOf(config) },
    deviceFlow: createDeviceFlow({ pages, audit }),
    introspection: {
      enabled: true,
      allowedPolicy: (_ctx, client, token) =>
        mayInspect(client, token.clientId, token.kind === 'RefreshToken' ? 'refresh token' : 'access token'),
    },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    // Handles requests with opaque access tokens. endpoints/userinfo.ts handles requests with JWTs.
    userinfo: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx, form) => {
        const page = pages.confirmSignOut({ form, clientName: ctx.oidc.client?.clientName });
        // The response to the form redirects the browser to the client's address `post_logout_redirect_uri`.
        const allowExternalFormTargets = ctx.oidc.params?.post_logout_redirect_uri !== undefined;
        showPage(ctx, pages, page, { allowExternalFormTargets });
      },
      postLogoutSuccessSource: async (ctx) =>
        showPage(ctx, pages, await pages.signedOut({ clientName: ctx.oidc.client?.clientName }, ctx.req, ctx.res)),
    },
    resourceIndicators: {
      enabled: true,
      // The audience of a request without the parameter `resource`. If a grant already has audiences (`oneOf`), the
      // first one is used. Otherwise, only the custom scopes need an audience. The cast is needed because the types of
      // oidc-provider do not allow undefined, which means that the request has no audience.
      defaultResource: (ctx, _client, oneOf) =>
        (oneOf?.[0] ?? (hasCustomScope(ctx.oidc.params?.scope) ? resource.audience : undefined)) as string,
      getResourceServerInfo: (_ctx, requested, client) => {
        if (requested !== resource.audience) {
          throw new errors.InvalidTarget('resource is not one that this server issues tokens for');
        }
        return resource.info(allowedScopes(client));
      },
      // With `false`, a client that requests openid and a custom scope would get an opaque token for userinfo instead
      // of a JWT for the Bookings API.
      useGrantedResource: (ctx, model) => hasCustomScope(ctx.oidc.params?.scope ?? model.scope),
    },
  };
}

/**
 * Returns the setting `findAccount`. At the token endpoint, it also removes scopes from the code or refresh token that
 * the client may no longer have, and selects the facilities of the access token.
 */
function createFindAccount(
  { scopes, findAccount }: ProviderDependencies,
  facilitiesClaim: FacilitiesClaim,
): Configuration['findAccount'] {
  return async (ctx, id, token) => {
    const account = await orUnavailable(() => findAccount(id));
    if (!account || account.disabledAt) return undefined;
    requestState(ctx).account = account;
    // oidc-provider calls this function before it consumes a refresh token. After an error here, the client can
    // therefore use the refresh token again.
    if (ctx.oidc.route === 'token' && token) {
      limitToAllowedScopes(ctx, token, scopes);
      await facilitiesClaim(ctx, { scope: token.scope, accountId: id });
    }
    return { accountId: account.id, claims: () => claimsOf(account) };
  };
}

/**
 * Registers the middleware that runs around oidc-provider. The middleware that is registered first is the outermost.
 */
function registerMiddleware(provider: Provider, dependencies: ProviderDependencies): void {
  const { config, scopes, resource, pages, logger } = dependencies;
  registerResponseMiddleware(provider, {
    issuer: config.issuer,
    audience: resource.audience,
    scopes: scopes.all,
    responseTypes: publishedResponseTypes(clientSettings.responseTypes),
    logger,
    showNotFound: async (ctx) => {
      const page = { status: 404, error: 'not_found', description: 'There is no such page.' };
      showPage(ctx, pages, await pages.error(page, ctx.req, ctx.res), { status: 404 });
    },
  });
  rewriteAuthorizationRequests(provider, routes.authorization);
  deleteImplicitCodes(provider);
}
