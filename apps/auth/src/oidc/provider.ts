// Configures oidc-provider. README.md lists where we change the library's behaviour.

import type { Database } from '@bay-booking/service/database/database';
import { noteCause } from '@bay-booking/service/http/app';
import type { Logger } from '@bay-booking/service/logging';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { Response } from 'express';
import { type Configuration, type JWK, Provider } from 'oidc-provider';
import type { SignInAttempts, SignInWithPassword } from '../accounts/sign-in.ts';
import type { SocialIdentityStore } from '../accounts/social-identity-store.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { ClientStore } from '../clients/store.ts';
import type { AuthConfig } from '../config.ts';
import type { FactorStore } from '../factors/store.ts';
import type { LimitPushedRequests } from '../guard/usage-limit.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import type { RevocationStore } from '../revocations/store.ts';
import type { SocialProviders } from '../social/settings.ts';
import { type ConsentFinder, createGrantLoader } from './authorization/consent-grants.ts';
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
import { allowedScopes, ownMetadataOf } from './clients/registered-client.ts';
import { clientSettings, features } from './clients/schema.ts';
import { allowLoopbackRedirects } from './clients/validation.ts';
import { hostCookieName } from './cookies.ts';
import { mayInspect, registerJwtIntrospection } from './endpoints/introspection.ts';
import { registerEventListeners } from './event-listeners.ts';
import { createIssueTokens, createMissingFactorCheck } from './grants/issue.ts';
import { registerPasswordGrant } from './grants/password.ts';
import { registerSocialGrant } from './grants/social-access-token.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { type ProviderPages, requesterOf, showPage } from './pages.ts';
import { routes } from './paths.ts';
import { registerResponseMiddleware } from './responses.ts';
import { offlineAccess, type ScopeTable, splitScope } from './scopes.ts';
import { sessionTtl } from './sessions.ts';
import { createAdapter } from './storage/adapter.ts';
import type { ArtifactStore } from './storage/artifacts.ts';
import type { DeviceCodes } from './storage/device-codes.ts';
import type { EndSession } from './storage/sessions.ts';
import {
  createExtraTokenClaims,
  createFacilitiesClaim,
  createFindAccount,
  customizeJwt,
  type FacilitiesClaim,
  selectFacilitiesBeforeConsume,
} from './tokens/claims.ts';
import type { ProofVerifier } from './tokens/dpop.ts';
import { nonceSecretOf } from './tokens/dpop.ts';
import { disableAutomaticLogoutTokens } from './tokens/logout-tokens.ts';
import { type RecordFirstUse, registerReplayDetection } from './tokens/replay-detection.ts';
import type { ResourceServer } from './tokens/resource-server.ts';
import type { TokenLifetimes } from './tokens/token-lifetimes.ts';

// Silences two warnings of oidc-provider that are wrong here: our own endpoints read the body of a request on purpose,
// and our own client protects the outgoing requests (outbound-fetch.ts).
const wrongWarnings = /already parsed request body|failed to setup SSRF protection for fetch/;
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!wrongWarnings.test(String(values[0]))) warn(...values);
};

/** What the settings of a provider use. Everything outlives the provider, which is replaced when the keys change. */
export interface ProviderOptions {
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly db: Database;
  readonly audit: Audit;
  readonly outbound: OutboundClient;
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly lifetimes: TokenLifetimes;
  readonly artifacts: ArtifactStore;
  readonly deviceCodes: DeviceCodes;
  readonly endSession: EndSession;
  readonly recordFirstUse: RecordFirstUse;
  readonly revocations: RevocationStore;
  readonly proofs: ProofVerifier;
  readonly tokenRateLimit: RateLimit;
  readonly limitPushedRequests: LimitPushedRequests;
  readonly accounts: AccountStore;
  readonly factors: FactorStore;
  readonly clients: ClientStore;
  readonly consents: ConsentFinder;
  readonly signIn: SignInWithPassword;
  readonly attempts: SignInAttempts;
  readonly socialIdentities: SocialIdentityStore;
  readonly socialProviders: SocialProviders;
  readonly pages: ProviderPages;
}

/** For each algorithm, oidc-provider signs with the first of `keys`, which are private JWKs. */
export function createProvider(options: ProviderOptions, keys: readonly JWK[]): Provider {
  const { config, logger, audit, scopes, resource, lifetimes, artifacts, revocations, proofs, accounts } = options;
  const { factors, clients, tokenRateLimit, pages } = options;
  const facilitiesClaim = createFacilitiesClaim({ accounts, scopes });
  const provider = new Provider(config.issuer, createConfiguration(options, keys, facilitiesClaim));
  // Koa may trust the X-Forwarded-* headers, because http/corrected-request.ts has overwritten them.
  provider.proxy = true;

  // The first middleware is the outermost.
  registerResponseMiddleware(provider, { config, logger, scopes, resource, pages });
  rewriteAuthorizationRequests(provider, routes.authorization);
  setAcr(provider);
  acceptHintsOfEveryAlgorithm(provider);
  deleteImplicitCodes(provider);
  registerJwtIntrospection(provider, keys, { artifacts, accounts, audit, revocations });
  addPollInterval(provider);
  registerEventListeners(provider, { audience: resource.audience, audit, clients });

  selectFacilitiesBeforeConsume(provider, facilitiesClaim);
  applyClientPolicy(provider, { tokenRateLimit, scopes, checkResource: resource.checkRequested });
  registerReplayDetection(provider, options.recordFirstUse);
  disableAutomaticLogoutTokens(provider);
  if (config.isDevelopment) allowLoopbackRedirects(provider);

  const issueTokens = createIssueTokens({ resource, lifetimes, proofs });
  const refuseMissingFactor = createMissingFactorCheck({ factors, audit });
  registerPasswordGrant(provider, { scopes, signIn: options.signIn, issueTokens, refuseMissingFactor });
  const { attempts, socialIdentities, socialProviders } = options;
  registerSocialGrant(provider, {
    scopes,
    attempts,
    socialIdentities,
    socialProviders,
    logger,
    issueTokens,
    refuseMissingFactor,
  });
  return provider;
}

function createConfiguration(
  options: ProviderOptions,
  keys: readonly JWK[],
  facilitiesClaim: FacilitiesClaim,
): Configuration {
  const { config, db, logger, scopes, resource, lifetimes, accounts, consents, socialProviders, pages } = options;
  const { artifacts, clients, deviceCodes, endSession, limitPushedRequests } = options;
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true } as const;

  return {
    adapter: createAdapter({ db, artifacts, clients, deviceCodes, scopes, lifetimes, endSession }),
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
    findAccount: createFindAccount({ accounts, scopes, facilitiesClaim }),
    loadExistingGrant: createGrantLoader({ resource, consents }),
    interactions: {
      policy: createInteractionPolicy(resource.audience),
      url: (_ctx, interaction) => `/interaction/${interaction.uid}`,
    },
    extraParams: { [idpParameter]: createRequestCheck({ socialProviders, limitPushedRequests }), [mfaParameter]: null },
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
