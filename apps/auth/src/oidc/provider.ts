// Configures oidc-provider. README.md lists where we change the library's behaviour.
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
import './responses/library-warnings.ts';

export interface ProviderDependencies extends SharedServices {
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly lifetimes: TokenLifetimes;
  readonly limit: RateLimit;

  readonly adapter: (model: string) => Adapter;
  readonly revokeGrant: ArtifactStore['revokeGrant'];
  readonly recordFirstUse: RecordFirstUse;

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
  readonly fetch: Configuration['fetch'];
}

/** For each algorithm, oidc-provider signs with the first of `keys`, which are private JWKs. */
export function createProvider(dependencies: ProviderDependencies, keys: readonly JWK[]): Provider {
  const { config, scopes, resource, findAccount, revokeGrant, audit, recordUse } = dependencies;
  const facilitiesClaim = createFacilitiesClaim(dependencies.facilities, scopes);
  const provider = new Provider(config.issuer, createConfiguration(dependencies, keys, facilitiesClaim));
  // Koa may trust the X-Forwarded-* headers, because http/trusted-host.ts has overwritten them.
  provider.proxy = true;

  registerMiddleware(provider, dependencies);
  registerJwtIntrospection(provider, { revokeGrant, keys, findAccount });
  addPollInterval(provider);
  registerEventListeners(provider, { audience: resource.audience, audit, recordUse });

  selectFacilitiesBeforeConsume(provider, facilitiesClaim);
  applyClientPolicy(provider, { limit: dependencies.limit, scopes });
  registerReplayDetection(provider, dependencies.recordFirstUse);
  disableAutomaticLogoutTokens(provider);
  if (config.isDevelopment) allowLoopbackRedirects(provider);

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
    // The id_token contains all granted claims.
    conformIdTokenClaims: false,
    assertJwtClientAuthClaimsAndHeader: checkClientAssertion,
    // In seconds (FAPI 2.0 Security Profile section 5.3.2.1).
    clockTolerance: 10,
    // RFC 9700 section 2.1
    allowOmittingSingleRegisteredRedirectUri: false,
    cookies: {
      keys: [...config.cookieKeys],
      // The prefix `__Host-` requires the path `/`, which only the session cookie has.
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
      // grants/issue.ts stores the lifetime of a grant without a refresh token.
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
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    issueRefreshToken: (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') && source.scopes.has(offlineAccess),
    // oidc-provider would reject other origins. responses/machine-endpoints.ts decides who may read a response.
    clientBasedCORS: () => false,
    renderError: async (ctx, out, error) => {
      const { status } = ctx;
      // oidc-provider sets `expose` for errors that the request caused.
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
    // For opaque access tokens. endpoints/userinfo.ts serves JWTs.
    userinfo: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx, form) => {
        const page = pages.confirmSignOut({ form, clientName: ctx.oidc.client?.clientName });
        const allowExternalFormTargets = ctx.oidc.params?.post_logout_redirect_uri !== undefined;
        showPage(ctx, pages, page, { allowExternalFormTargets });
      },
      postLogoutSuccessSource: async (ctx) =>
        showPage(ctx, pages, await pages.signedOut({ clientName: ctx.oidc.client?.clientName }, ctx.req, ctx.res)),
    },
    resourceIndicators: {
      enabled: true,
      // The types do not allow undefined, which means that the request needs no audience.
      defaultResource: (ctx, _client, oneOf) =>
        (oneOf?.[0] ?? (hasCustomScope(ctx.oidc.params?.scope) ? resource.audience : undefined)) as string,
      getResourceServerInfo: (_ctx, requested, client) => {
        if (requested !== resource.audience) {
          throw new errors.InvalidTarget('resource is not one that this server issues tokens for');
        }
        return resource.info(allowedScopes(client));
      },
      // With `false`, openid and a custom scope would give an opaque token for userinfo.
      useGrantedResource: (ctx, model) => hasCustomScope(ctx.oidc.params?.scope ?? model.scope),
    },
  };
}

function createFindAccount(
  { scopes, findAccount }: ProviderDependencies,
  facilitiesClaim: FacilitiesClaim,
): Configuration['findAccount'] {
  return async (ctx, id, token) => {
    const account = await orUnavailable(() => findAccount(id));
    if (!account || account.disabledAt) return undefined;
    requestState(ctx).account = account;
    // Before a refresh token is consumed, so it stays usable after an error here.
    if (ctx.oidc.route === 'token' && token) {
      limitToAllowedScopes(ctx, token, scopes);
      await facilitiesClaim(ctx, { scope: token.scope, accountId: id });
    }
    return { accountId: account.id, claims: () => claimsOf(account) };
  };
}

/** The first middleware is the outermost. */
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
