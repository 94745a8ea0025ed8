// How is oidc-provider configured? The one place. Everything it can do is either switched on with its rules here or off, so that
// discovery tells the truth. An instance holds one set of signing keys; provider-host.ts swaps instances when keys rotate.
import type { Logger } from '@bay-booking/service/logging';
import { type Adapter, type Configuration, errors, type JWK, Provider } from 'oidc-provider';
import type { Audit } from '../audit/audit.ts';
import type { FacilityStore } from '../facilities/store.ts';
import { createAccessTokenRules } from './access-token-claims.ts';
import {
  createRequestCheck,
  idpParameter,
  registerRequestReading,
  registerScopeRules,
} from './authorization-request.ts';
import { claimsOf, type ProviderAccount } from './claims.ts';
import { registerClientRules, type TokenRateLimit } from './client-policy.ts';
import { clientSettings, features } from './client-schema.ts';
import { loadExistingGrant } from './consent-grants.ts';
import { mayInspect, registerJwtIntrospection } from './endpoints/introspection.ts';
import { registerEventListeners } from './event-listeners.ts';
import type { ClientCredentials } from './grants/client-credentials.ts';
import { type PasswordGrantOptions, registerPasswordGrant } from './grants/password.ts';
import { registerSocialGrant, type SocialGrantOptions } from './grants/social-access-token.ts';
import { isImplicitToken, registerImplicit } from './implicit-flow.ts';
import { createInteractionPolicy } from './interaction-policy.ts';
import { type ProviderPages, showPage } from './pages.ts';
import { routes } from './paths.ts';
import { allowedScopes, ownMetadataOf } from './registered-client.ts';
import type { ResourceServer } from './resource-server.ts';
import { registerResponseMiddleware } from './response-middleware.ts';
import { offlineAccess, type ScopeTable, splitScope } from './scopes.ts';
import { sessionTtl } from './sessions.ts';
import { signingKeyFor } from './signer.ts';
import type { ArtifactStore } from './storage/artifacts.ts';
import type { ConcurrentUse } from './storage/concurrent-use.ts';
import { orUnavailable } from './unavailable.ts';

/** Seconds. */
export const lifetimes = {
  code: 60,
  idToken: 3600,
  interaction: 3600,
  grant: 365 * 24 * 3600,
};

export interface ProviderDependencies {
  readonly settings: {
    readonly issuer: string;
    readonly cookieKeys: readonly string[];
    readonly bookingsAudience: string;
    readonly accessTokenTtl: number;
    readonly refreshTokenTtl: number;
    readonly development: boolean;
  };
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly limit: TokenRateLimit;
  readonly adapter: (model: string) => Adapter;
  readonly revokeGrant: ArtifactStore['revokeGrant'];
  readonly concurrentUse: ConcurrentUse;
  readonly clientCredentials: ClientCredentials;
  readonly facilities: FacilityStore;
  readonly findAccount: (id: string) => Promise<ProviderAccount | undefined>;
  readonly signIn: PasswordGrantOptions['signIn'];
  readonly verifyNativeToken: SocialGrantOptions['verifyNativeToken'];
  readonly findOrCreateSocialAccount: SocialGrantOptions['findOrCreateSocialAccount'];
  readonly isSocialProvider: (name: string) => boolean;
  readonly pages: ProviderPages;
  readonly audit: Audit;
  readonly logger: Logger;
}

/** `keys` are private JWKs; of several that fit, the first signs. */
export function createProvider(dependencies: ProviderDependencies, keys: readonly JWK[]): Provider {
  const { settings, scopes, resource, revokeGrant, facilities, pages, audit, logger } = dependencies;
  const audience = settings.bookingsAudience;
  const rules = createAccessTokenRules({ facilities, scopes });
  const carriesCustom = (scope: unknown): boolean => splitScope(scope as string | undefined).some(resource.isCustom);

  const configuration: Configuration = {
    adapter: dependencies.adapter,
    jwks: { keys: keys.map(signingKeyFor) as never },
    routes,
    ...clientSettings,
    conformIdTokenClaims: false,
    // RFC 9700 section 2.1: what is compared must be there, in the request and when the code is redeemed.
    allowOmittingSingleRegisteredRedirectUri: false,
    cookies: {
      keys: [...settings.cookieKeys],
      long: { httpOnly: true, sameSite: 'lax', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    ttl: {
      AccessToken: settings.accessTokenTtl,
      ClientCredentials: settings.accessTokenTtl,
      AuthorizationCode: lifetimes.code,
      IdToken: lifetimes.idToken,
      RefreshToken: settings.refreshTokenTtl,
      Interaction: lifetimes.interaction,
      Session: sessionTtl,
      Grant: (_ctx, grant) =>
        (grant as { expiresIn?: number }).expiresIn ?? Math.max(lifetimes.grant, settings.refreshTokenTtl),
    },
    findAccount: async (ctx, id, token) => {
      const account = await orUnavailable(() => dependencies.findAccount(id));
      if (!account || account.disabledAt) return undefined;
      // Faults in what is asked for are told before the refresh token is used up.
      if (ctx.oidc.route === 'token' && token) {
        rules.keepToClient(ctx, token);
        if (splitScope(token.scope).includes(scopes.bookings)) await rules.facilitiesFor(ctx, id);
      }
      return { accountId: account.id, claims: () => claimsOf(account) };
    },
    loadExistingGrant,
    interactions: { policy: createInteractionPolicy(), url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    extraParams: {
      [idpParameter]: createRequestCheck(dependencies.isSocialProvider),
    },
    extraTokenClaims: rules.extraTokenClaims,
    formats: { customizers: { jwt: rules.customizeJwt } },
    pkce: {
      required: (ctx, client) =>
        ownMetadataOf(client).pkce === 'required' && !isImplicitToken(ctx.oidc.params?.response_type),
    },
    // Tokens live as long as their grant, not as the browser's session.
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    issueRefreshToken: (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') && source.scopes.has(offlineAccess),
    // Answered by answers.ts, which lets registered origins read and refuses nobody.
    clientBasedCORS: () => false,
    renderError: async (ctx, out, error) => {
      const status = ctx.status;
      if (!('expose' in error && error.expose)) logger.error({ err: error, path: ctx.path }, 'request failed');
      const description = out.error_description ?? 'The request is not valid.';
      showPage(ctx, await pages.error({ status, error: out.error, description }, ctx.req, ctx.res), status);
    },
    features: {
      ...features,
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      introspection: { enabled: true, allowedPolicy: (_ctx, client, token) => mayInspect(client, token.clientId) },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      userinfo: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, form) =>
          showPage(
            ctx,
            pages.confirmSignOut({ form, clientName: ctx.oidc.client?.clientName }),
            200,
            ctx.oidc.params?.post_logout_redirect_uri !== undefined,
          ),
        postLogoutSuccessSource: async (ctx) =>
          showPage(ctx, await pages.signedOut({ clientName: ctx.oidc.client?.clientName }, ctx.req, ctx.res)),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: (ctx, _client, oneOf) =>
          (oneOf?.[0] ?? (carriesCustom(ctx.oidc.params?.scope) ? audience : undefined)) as string,
        getResourceServerInfo: (_ctx, asked, client) => {
          if (asked !== audience)
            throw new errors.InvalidTarget('resource is not one that this server issues tokens for');
          return resource.info(allowedScopes(client));
        },
        useGrantedResource: (ctx, model) => carriesCustom(ctx.oidc.params?.scope ?? model.scope),
      },
    },
  };

  const provider = new Provider(settings.issuer, configuration);
  // Addresses are pinned to ISSUER before a request comes here (public-address.ts), so these headers are ours.
  provider.proxy = true;
  registerResponseMiddleware(provider, {
    issuer: settings.issuer,
    scopes: scopes.all,
    logger,
    renderNotFound: async (ctx) => {
      const facts = { status: 404, error: 'not_found', description: 'There is no such page.' };
      showPage(ctx, await pages.error(facts, ctx.req, ctx.res), 404);
    },
  });
  dependencies.concurrentUse.observe(provider);
  registerRequestReading(provider, routes.authorization);
  registerScopeRules(provider, scopes);
  registerImplicit(provider);
  rules.keepCodeOnFault(provider);
  registerJwtIntrospection(provider, { revokeGrant, keys, findAccount: dependencies.findAccount });
  registerEventListeners(provider, { audience, audit });
  registerClientRules(provider, { development: settings.development, limit: dependencies.limit });
  dependencies.clientCredentials.register(provider);
  const issue = { scopes, resource, accessTokenTtl: settings.accessTokenTtl };
  registerPasswordGrant(provider, { ...issue, signIn: dependencies.signIn });
  registerSocialGrant(provider, {
    ...issue,
    verifyNativeToken: dependencies.verifyNativeToken,
    findOrCreateSocialAccount: dependencies.findOrCreateSocialAccount,
  });
  return provider;
}
