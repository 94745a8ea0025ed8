// Configures oidc-provider. README.md lists where we change the library's behaviour.
import { noteCause } from '@bay-booking/service/http/app';
import type { Logger } from '@bay-booking/service/logging';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { Response } from 'express';
import { type Configuration, type JWK, Provider } from 'oidc-provider';
import type { AccountStore } from '../accounts/store.ts';
import type { AuthConfig } from '../config.ts';
import { createGrantLoader, type GrantLoaderParts } from './authorization/consent-grants.ts';
import { addPollInterval, createDeviceFlow, type DeviceFlowParts } from './authorization/device-flow.ts';
import { limitToAllowedScopes } from './authorization/granted-scope.ts';
import { deleteImplicitCodes, isImplicitToken } from './authorization/implicit-flow.ts';
import { createInteractionPolicy } from './authorization/interaction-policy.ts';
import {
  acceptHintsOfEveryAlgorithm,
  createRequestCheck,
  idpParameter,
  mfaParameter,
  type RequestCheckParts,
  rewriteAuthorizationRequests,
  setAcr,
  twoFactors,
} from './authorization/requests.ts';
import { applyClientPolicy, type ClientPolicyParts, checkClientAssertion } from './clients/policy.ts';
import { allowedScopes, ownMetadataOf } from './clients/registered-client.ts';
import { clientSettings, features } from './clients/schema.ts';
import { allowLoopbackRedirects } from './clients/validation.ts';
import { hostCookieName } from './cookies.ts';
import { type IntrospectionParts, mayInspect, registerJwtIntrospection } from './endpoints/introspection.ts';
import { type EventListenerParts, registerEventListeners } from './event-listeners.ts';
import { type PasswordGrantParts, registerPasswordGrant } from './grants/password.ts';
import { registerSocialGrant, type SocialGrantParts } from './grants/social-access-token.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { requesterOf, showPage } from './pages.ts';
import { routes } from './paths.ts';
import { requestState, type SignIn, signInOf } from './request-state.ts';
import { type ResponseParts, registerResponseMiddleware } from './responses/middleware.ts';
import { offlineAccess, type ScopeTable, splitScope } from './scopes.ts';
import { sessionTtl } from './sessions.ts';
import { type AdapterParts, createAdapter } from './storage/adapter.ts';
import { claimsOf, createExtraTokenClaims, customizeJwt } from './tokens/claims.ts';
import { nonceSecretOf } from './tokens/dpop.ts';
import {
  createFacilitiesClaim,
  type FacilitiesClaim,
  selectFacilitiesBeforeConsume,
} from './tokens/facilities-claim.ts';
import { disableAutomaticLogoutTokens } from './tokens/logout-tokens.ts';
import { type RecordFirstUse, registerReplayDetection } from './tokens/replay-detection.ts';
import { checkGrantedResource, type ResourceServer } from './tokens/resource-server.ts';
import type { TokenLifetimes } from './tokens/token-lifetimes.ts';
import { orUnavailable } from './unavailable.ts';

// Silences two warnings of oidc-provider that are wrong here: our own endpoints read the body of a request on purpose,
// and our own client protects the outgoing requests (outbound-fetch.ts).
const wrongWarnings = /already parsed request body|failed to setup SSRF protection for fetch/;
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!wrongWarnings.test(String(values[0]))) warn(...values);
};

export interface ProviderParts
  extends AdapterParts,
    FindAccountParts,
    FeatureParts,
    GrantLoaderParts,
    RequestCheckParts,
    ResponseParts,
    IntrospectionParts,
    EventListenerParts,
    Omit<ClientPolicyParts, 'checkResource'>,
    PasswordGrantParts,
    SocialGrantParts {
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly outbound: OutboundClient;
  readonly lifetimes: TokenLifetimes;
  readonly recordFirstUse: RecordFirstUse;
}

/** For each algorithm, oidc-provider signs with the first of `keys`, which are private JWKs. */
export function createProvider(parts: ProviderParts, keys: readonly JWK[]): Provider {
  const { config, resource } = parts;
  const facilitiesClaim = createFacilitiesClaim(parts);
  const provider = new Provider(config.issuer, createConfiguration(parts, keys, facilitiesClaim));
  // Koa may trust the X-Forwarded-* headers, because http/corrected-request.ts has overwritten them.
  provider.proxy = true;

  // The first middleware is the outermost.
  registerResponseMiddleware(provider, parts);
  rewriteAuthorizationRequests(provider, routes.authorization);
  setAcr(provider);
  acceptHintsOfEveryAlgorithm(provider);
  deleteImplicitCodes(provider);
  registerJwtIntrospection(provider, keys, parts);
  addPollInterval(provider);
  registerEventListeners(provider, resource.audience, parts);

  selectFacilitiesBeforeConsume(provider, facilitiesClaim);
  applyClientPolicy(provider, { ...parts, checkResource: resource.checkRequested });
  registerReplayDetection(provider, parts.recordFirstUse);
  disableAutomaticLogoutTokens(provider);
  if (config.isDevelopment) allowLoopbackRedirects(provider);

  registerPasswordGrant(provider, parts);
  registerSocialGrant(provider, parts);
  return provider;
}

function createConfiguration(
  parts: ProviderParts,
  keys: readonly JWK[],
  facilitiesClaim: FacilitiesClaim,
): Configuration {
  const { config, resource, lifetimes, providerPages: pages, logger } = parts;
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true } as const;

  return {
    adapter: createAdapter(parts),
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
    findAccount: createFindAccount(parts, facilitiesClaim),
    loadExistingGrant: createGrantLoader(parts),
    interactions: {
      policy: createInteractionPolicy(resource.audience),
      url: (_ctx, interaction) => `/interaction/${interaction.uid}`,
    },
    extraParams: { [idpParameter]: createRequestCheck(parts), [mfaParameter]: null },
    acrValues: [twoFactors, ...[...parts.providers.keys()].map((name) => `idp:${name}`)],
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
      if (status === 503) noteCause(ctx.res as Response, error);
      else if (!('expose' in error && error.expose)) logger.error({ err: error, path: ctx.path }, 'request failed');
      const description = out.error_description ?? 'The request is not valid.';
      const page = { status, error: out.error, description, ...(await requesterOf(ctx)) };
      showPage(ctx, await pages.error(page, ctx.req, ctx.res), { status });
    },
    fetch: createOutboundFetch(parts.outbound),
    features: createFeatures(parts),
  };
}

interface FeatureParts extends DeviceFlowParts {
  readonly config: AuthConfig;
  readonly resource: ResourceServer;
}

function createFeatures(parts: FeatureParts): NonNullable<Configuration['features']> {
  const { config, providerPages: pages, resource } = parts;
  const hasCustomScope = (scope: unknown): boolean => splitScope(scope as string | undefined).some(resource.isCustom);
  return {
    ...features,
    dPoP: { ...features.dPoP, nonceSecret: nonceSecretOf(config) },
    deviceFlow: createDeviceFlow(parts),
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
        showPage(ctx, page, { allowExternalFormTargets });
      },
      postLogoutSuccessSource: async (ctx) =>
        showPage(ctx, await pages.signedOut({ clientName: ctx.oidc.client?.clientName }, ctx.req, ctx.res)),
    },
    resourceIndicators: {
      enabled: true,
      // The types do not allow undefined, which means that the request needs no audience.
      defaultResource: (ctx, _client, oneOf) =>
        (oneOf?.[0] ?? resource.audienceFor(ctx.oidc.params?.scope as string | undefined)) as string,
      getResourceServerInfo: (ctx, requested, client) => {
        resource.checkRequested(requested, ctx.oidc.params?.scope as string | undefined);
        return resource.info(allowedScopes(client), requested);
      },
      // With `false`, openid and a custom scope would give an opaque token for userinfo.
      useGrantedResource: (ctx, model) => hasCustomScope(ctx.oidc.params?.scope ?? model.scope),
    },
  };
}

interface FindAccountParts {
  readonly scopes: ScopeTable;
  readonly accounts: AccountStore;
}

function createFindAccount(
  { scopes, accounts }: FindAccountParts,
  facilitiesClaim: FacilitiesClaim,
): Configuration['findAccount'] {
  return async (ctx, id, token) => {
    const read = requestState(ctx).account;
    const account = read?.id === id ? read : await orUnavailable(() => accounts.findWithMemberships(id));
    if (!account || account.isDisabled) return undefined;
    requestState(ctx).account = account;
    // Before a refresh token is consumed, so it stays usable after an error here.
    if (ctx.oidc.route === 'token' && token) {
      limitToAllowedScopes(ctx, token, scopes);
      checkGrantedResource(ctx, token as { resource?: string | string[] });
      const narrowed = ctx.oidc.params?.scope as string | undefined;
      await facilitiesClaim(ctx, { scope: narrowed || token.scope, accountId: id, amr: (token as SignIn).amr });
    }
    // An opaque token at userinfo has the `amr` that createExtraTokenClaims stored in it.
    const amrOf = () => signInOf(ctx)?.amr ?? (ctx.oidc.entities.AccessToken?.extra?.amr as string[] | undefined);
    return { accountId: account.id, claims: () => claimsOf(account, amrOf()) };
  };
}
