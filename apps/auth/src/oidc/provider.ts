// Configures oidc-provider. README.md lists where we change the library's behaviour.

import { noteCause } from '@bay-booking/service/http/app';
import type { Response } from 'express';
import { type Configuration, type JWK, Provider } from 'oidc-provider';
import { createGrantLoader } from './authorization/consent-grants.ts';
import { addPollInterval, createDeviceFlow } from './authorization/device-flow.ts';
import { deleteImplicitCodes, isImplicitToken } from './authorization/implicit-flow.ts';
import { createInteractionPolicy } from './authorization/interaction-policy.ts';
import {
  acceptHintsOfEveryAlgorithm,
  createRequestCheck,
  idpParameter,
  mfaParameter,
  rewriteAuthorizationRequests,
  setAcr,
  twoFactors,
} from './authorization/requests.ts';
import { applyClientPolicy, checkClientAssertion } from './clients/policy.ts';
import { allowedScopes, clientSettings, features, ownMetadataOf } from './clients/registered-client.ts';
import { allowLoopbackRedirects } from './clients/validation.ts';
import { mayInspect, registerJwtIntrospection } from './endpoints/introspection.ts';
import { registerEventListeners } from './event-listeners.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { requesterOf, showPage } from './pages.ts';
import { routes } from './paths.ts';
import type { ProviderOptions } from './provider-options.ts';
import { registerResponseMiddleware } from './responses.ts';
import { offlineAccess, splitScope } from './scopes.ts';
import { hostCookieName, sessionTtl } from './sessions.ts';
import { createAdapter } from './storage/adapter.ts';
import {
  createExtraTokenClaims,
  createFacilitiesClaim,
  createFindAccount,
  customizeJwt,
  type FacilitiesClaim,
  selectFacilitiesBeforeConsume,
} from './tokens/claims.ts';
import { nonceSecretOf, registerReplayDetection } from './tokens/dpop.ts';
import { registerOwnGrantTypes } from './tokens/grant-types.ts';
import { disableAutomaticLogoutTokens } from './tokens/logout-tokens.ts';

// Silences two warnings of oidc-provider that are wrong here: our own endpoints read the body of a request on purpose,
// and our own client protects the outgoing requests (outbound-fetch.ts).
const wrongWarnings = /already parsed request body|failed to setup SSRF protection for fetch/;
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!wrongWarnings.test(String(values[0]))) warn(...values);
};

/** For each algorithm, oidc-provider signs with the first of `keys`, which are private JWKs. */
export function createProvider(options: ProviderOptions, keys: readonly JWK[]): Provider {
  const { config, scopes, services } = options;
  const facilitiesClaim = createFacilitiesClaim(services.accounts, scopes);
  const provider = new Provider(config.issuer, createConfiguration(options, keys, facilitiesClaim));
  // Koa may trust the X-Forwarded-* headers, because http/corrected-request.ts has overwritten them.
  provider.proxy = true;

  // The first middleware is the outermost.
  registerResponseMiddleware(provider, options);
  rewriteAuthorizationRequests(provider, routes.authorization);
  setAcr(provider);
  acceptHintsOfEveryAlgorithm(provider);
  deleteImplicitCodes(provider);
  registerJwtIntrospection(provider, keys, options);
  addPollInterval(provider);
  registerEventListeners(provider, options);

  selectFacilitiesBeforeConsume(provider, facilitiesClaim);
  applyClientPolicy(provider, options);
  registerReplayDetection(provider, options.recordFirstUse);
  disableAutomaticLogoutTokens(provider);
  if (config.isDevelopment) allowLoopbackRedirects(provider);

  registerOwnGrantTypes(provider, options);
  return provider;
}

function createConfiguration(
  options: ProviderOptions,
  keys: readonly JWK[],
  facilitiesClaim: FacilitiesClaim,
): Configuration {
  const { config, logger, scopes, resource, lifetimes, socialProviders, limitPushedRequests, pages } = options;
  const { accounts, consents } = options.services;
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true } as const;

  return {
    adapter: createAdapter(options),
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
      // tokens/grant-types.ts stores the lifetime of a grant without a refresh token.
      Grant: (_ctx, grant) => (grant as { expiresIn?: number }).expiresIn ?? lifetimes.grant,
    },
    findAccount: createFindAccount(scopes, accounts, facilitiesClaim, options.tokenRateLimit),
    loadExistingGrant: createGrantLoader(resource, consents),
    interactions: {
      policy: createInteractionPolicy(resource.audience),
      url: (_ctx, interaction) => `/interaction/${interaction.uid}`,
    },
    extraParams: { [idpParameter]: createRequestCheck(socialProviders, limitPushedRequests), [mfaParameter]: null },
    acrValues: [twoFactors, ...[...socialProviders.keys()].map((name) => `idp:${name}`)],
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
    // oidc-provider would reject other origins. responses.ts decides who may read a response.
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
    fetch: createOutboundFetch(options.outbound),
    features: createFeatures(options),
  };
}

function createFeatures({ config, resource, pages, audit }: ProviderOptions): NonNullable<Configuration['features']> {
  const hasCustomScope = (scope: unknown): boolean => splitScope(scope as string | undefined).some(resource.isCustom);
  return {
    ...features,
    dPoP: { ...features.dPoP, nonceSecret: nonceSecretOf(config) },
    deviceFlow: createDeviceFlow(pages, audit),
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
      // If it were `false`, openid and a custom scope would give an opaque token for userinfo.
      useGrantedResource: (ctx, model) => hasCustomScope(ctx.oidc.params?.scope ?? model.scope),
    },
  };
}
