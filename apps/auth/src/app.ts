// Creates every store and service of auth once, and the Express application: the only composition root.
//
// Each function below creates one part with at most eight fields. Modules get the parts with spread syntax, and their
// options list only the fields that they use.
import { collectDatabaseMetrics, connectDatabase } from '@bay-booking/service/database/database';
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { createOutboundClient } from '@bay-booking/service/outbound/client';
import { type Express, type RequestHandler, Router } from 'express';
import { accountRoutes } from './account/routes.ts';
import { createAccountEmails } from './accounts/account-emails.ts';
import { createExpiredRowsStore } from './accounts/expired-rows-store.ts';
import { createOneTimeLinks } from './accounts/one-time-link-store.ts';
import { createSignIn } from './accounts/sign-in.ts';
import { createSocialIdentityStore, type SocialIdentity } from './accounts/social-identity-store.ts';
import { type Account, createAccountStore } from './accounts/store.ts';
import { createAudit } from './audit/audit.ts';
import { createLogoutSender } from './backchannel-logout/sender.ts';
import { createLogoutStore } from './backchannel-logout/store.ts';
import { createClientStore } from './clients/store.ts';
import type { AuthConfig } from './config.ts';
import { createFacilityStore } from './facilities/store.ts';
import { createFailureCounterFactory } from './guard/failure-counter.ts';
import { addressKey, nameKey } from './guard/keys.ts';
import { createSignInGuard } from './guard/sign-in-guard.ts';
import { createUsageLimit } from './guard/usage-limit.ts';
import { createUserCodeGuard } from './guard/user-code-guard.ts';
import { assetRoutes } from './html/asset.ts';
import { createCsrfTokens } from './html/csrf-tokens.ts';
import { assets } from './html/render.ts';
import { createSite } from './html/site.ts';
import { allowEveryOrigin } from './http/cors.ts';
import { handleError } from './http/error-handler.ts';
import { normalisePath } from './http/normalised-path.ts';
import { createRateLimit } from './http/rate-limit.ts';
import type { SharedServices } from './http/shared-services.ts';
import { trustIssuerHost } from './http/trusted-host.ts';
import { createConsentStore } from './interaction/consent/consent-store.ts';
import { devicePages } from './interaction/device/device-pages.ts';
import { createProviderPages } from './interaction/provider-pages.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { createBrowserSessions } from './interaction/sign-in/browser-session.ts';
import { createDeviceCookies } from './interaction/sign-in/device-cookie.ts';
import { directSignInRoutes } from './interaction/sign-in/direct-sign-in-routes.ts';
import { emailVerificationRoutes } from './interaction/sign-in/email-verification-routes.ts';
import { passwordResetRoutes } from './interaction/sign-in/password-reset-routes.ts';
import { createSessionStore } from './interaction/sign-in/session-store.ts';
import { createSignInPages } from './interaction/sign-in/sign-in-pages.ts';
import { createSocialRoutes } from './interaction/sign-in/social-routes.ts';
import { createStartSession } from './interaction/sign-in/start-session.ts';
import { startJobs } from './jobs.ts';
import { createOutboxMailer } from './mail/outbox-mailer.ts';
import { createMailStore } from './mail/store.ts';
import { countEvents, observeKeys } from './metrics.ts';
import { migrationsDirectory } from './migrations-directory.ts';
import { createConsentGrants } from './oidc/authorization/consent-grants.ts';
import { createDeviceSignIn } from './oidc/authorization/device-sign-in.ts';
import { createInteractions } from './oidc/authorization/interactions.ts';
import { providerMetadata } from './oidc/clients/metadata.ts';
import { createBrowserCookies } from './oidc/cookies.ts';
import { redirectPostedAuthorization } from './oidc/endpoints/posted-authorization.ts';
import { rewritePushedRequests } from './oidc/endpoints/pushed-authorization.ts';
import { createUserinfo } from './oidc/endpoints/userinfo.ts';
import { createOutboundFetch } from './oidc/outbound-fetch.ts';
import type { ProviderPages } from './oidc/pages.ts';
import { machinePaths, protocolPaths, publicDocumentPaths, routes, routeTemplate } from './oidc/paths.ts';
import { createProvider } from './oidc/provider.ts';
import { createProviderManager, type ProviderManager } from './oidc/provider-manager.ts';
import { createScopeTable } from './oidc/scopes.ts';
import { createProviderSessions } from './oidc/sessions.ts';
import { createAdapter } from './oidc/storage/adapter.ts';
import { createArtifactStore } from './oidc/storage/artifacts.ts';
import { createDeviceCodes } from './oidc/storage/device-codes.ts';
import { createEndSession } from './oidc/storage/ended-sessions.ts';
import { createProofVerifier, nonceSecretOf } from './oidc/tokens/dpop.ts';
import { createSendLogoutToken } from './oidc/tokens/logout-tokens.ts';
import { createReplayDetection } from './oidc/tokens/replay-detection.ts';
import { createResourceServer } from './oidc/tokens/resource-server.ts';
import { createTokenLifetimes } from './oidc/tokens/token-lifetimes.ts';
import { createHistoryStore } from './portal/facility/history-store.ts';
import { createAcceptanceStore } from './portal/invitations/acceptance-store.ts';
import { createInvitationStore } from './portal/invitations/invitation-store.ts';
import { createInvitations } from './portal/invitations/invitations.ts';
import { createMemberStore } from './portal/members/member-store.ts';
import { createPortal } from './portal/portal.ts';
import { createSignInDestination } from './portal/sign-in-destination.ts';
import { createSubmittedForms } from './portal/tokens/submitted-form-store.ts';
import { createTokens } from './portal/tokens/tokens.ts';
import { createKeyStore } from './signing-keys/store.ts';
import { createAuthorizationFlow } from './social/authorization-flow.ts';
import { createNativeTokenVerifier } from './social/native-token.ts';
import { createSocialProviders } from './social/settings.ts';
import { createSocialStore } from './social/store.ts';

export interface AppDependencies {
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface AuthApp {
  readonly app: Express;
  /** Checks now whether the signing keys have changed. This also happens every 2 s. */
  readonly refreshKeys: () => Promise<void>;
  /** Waits for work that continues after responses: audit events, e-mails and logout tokens. */
  readonly waitUntilIdle: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** @throws {WrongEncryptionKey} if KEY_ENCRYPTION_KEY cannot decrypt the stored signing keys */
export async function createApp(dependencies: AppDependencies): Promise<AuthApp> {
  const shared = createShared(dependencies);
  const { db, logger, audit } = shared;
  // The pages need the provider, and the provider needs the pages, so the pages get a function that returns it later.
  let manager: ProviderManager | undefined;
  const provider = () => (manager as ProviderManager).provider();
  const logoutSender = createLogoutSender({
    ...shared,
    store: createLogoutStore({ db }),
    send: createSendLogoutToken(provider),
    // The first check may come before the manager has tried to load the keys.
    isReady: () => manager?.isReady() === true,
  });
  const sendLogoutTokens = logoutSender.sendQueued;
  const stores = createStores(shared, sendLogoutTokens);
  const accountServices = createAccountServices(shared, stores);
  const protocol = createProtocol(shared, stores, sendLogoutTokens);
  const pageServices = createPageServices(shared, stores, protocol, provider);
  const providerPages = createProviderPages(pageServices.site.findLayoutUser);
  const outbound = createOutboundClient({ allowNetworks: shared.config.outboundAllowNetworks });
  const tokenServices = createTokenServices(shared, stores, protocol);
  const parts: Parts = { shared, stores, accountServices, protocol, tokenServices, pageServices, providerPages };
  const providerManager = await createManager(parts, createOutboundFetch(outbound));
  manager = providerManager;
  observeKeys(shared.metrics, providerManager.keys);
  const jobs = startJobs({ logger, artifacts: protocol.artifacts, expiredRows: createExpiredRowsStore({ db }) });

  return {
    app: createExpressApp(parts, providerManager),
    refreshKeys: providerManager.refresh,
    waitUntilIdle: async () => {
      await accountServices.emails.waitUntilIdle();
      await logoutSender.waitUntilIdle();
      await audit.flush();
    },
    close: async () => {
      await Promise.all([providerManager.close(), jobs.stop()]);
      await logoutSender.close();
      outbound.close();
      await accountServices.emails.waitUntilIdle();
      await accountServices.mailer.close();
      await audit.flush();
      await db.destroy();
    },
  };
}

function createShared({ config, logger, metrics }: AppDependencies): SharedServices {
  const db = connectDatabase({
    url: config.databaseUrl,
    applicationName: 'auth',
    poolMax: config.databasePoolMax,
    prepared: config.databasePrepared,
    migrationsDirectory,
  });
  collectDatabaseMetrics(metrics, db);
  return { config, logger, metrics, db, audit: countEvents(createAudit({ db, logger }), metrics) };
}

function createStores(shared: SharedServices, sendLogoutTokens: () => void) {
  const { db, config } = shared;
  return {
    accounts: createAccountStore({ db }),
    socialIdentities: createSocialIdentityStore({ db }),
    links: createOneTimeLinks({ db, key: config.encryptionKey }),
    clients: createClientStore({ ...shared, accessTokenTtl: config.accessTokenTtl }),
    facilities: createFacilityStore({ db }),
    members: createMemberStore({ db }),
    sessionStore: createSessionStore({ db, sendLogoutTokens }),
    consents: createConsentStore({ db, sendLogoutTokens }),
  };
}

type Stores = ReturnType<typeof createStores>;

function createAccountServices(shared: SharedServices, { accounts, socialIdentities, links }: Stores) {
  const { db, config, audit } = shared;
  const createCounter = createFailureCounterFactory(db);
  const guard = createSignInGuard(createCounter, config);
  const mailer = createOutboxMailer({ ...shared, store: createMailStore({ db }) });
  return {
    createCounter,
    mailer,
    emails: createAccountEmails({
      ...shared,
      links,
      accounts,
      mailer,
      // A recipient who has reached the first limit gets the previous link again.
      recipientLimit: createUsageLimit(createCounter, { name: 'mail', limit: 5, windowSeconds: 3600 }, nameKey),
      repeatLimit: createUsageLimit(createCounter, { name: 'mail-again', limit: 1, windowSeconds: 300 }, nameKey),
    }),
    signIn: createSignIn({ ...shared, accounts, guard }),
    /** Begins a social sign-in, whose failures count only for the IP address. */
    beginSocialAttempt: (address: string) => guard.beginAttempt({ address }),
    /** Deletes the count of failed sign-ins of a user name. All spellings of the user name share one count. */
    resetFailures: async (username: string): Promise<void> =>
      guard.resetFailures((await accounts.lookUpForSignIn(username)).name),
    /** Limits the new passwords for an account or invitation, because estimating their strength takes much CPU time. */
    newPasswordLimit: createUsageLimit(createCounter, { name: 'new-password', limit: 30, windowSeconds: 3600 }),
    findOrCreateSocialAccount: async (identity: SocialIdentity): Promise<Account> => {
      const { account, isNew } = await socialIdentities.findOrCreateAccount(identity);
      const detail = { provider: identity.provider };
      if (isNew) audit.record({ kind: 'account.registered', accountId: account.id, detail });
      return account;
    },
  };
}

type AccountServices = ReturnType<typeof createAccountServices>;

/** The rules and the storage of oidc-provider. */
function createProtocol({ db, config }: SharedServices, { clients }: Stores, sendLogoutTokens: () => void) {
  const scopes = createScopeTable(config.scopeBase);
  const lifetimes = createTokenLifetimes(config);
  const artifacts = createArtifactStore({ db });
  const deviceCodes = createDeviceCodes({ db, artifacts });
  const endSession = createEndSession({ db, sendLogoutTokens });
  const adapter = createAdapter({
    db,
    endSession,
    artifacts,
    deviceCodes,
    interactionLifetime: lifetimes.interaction,
    findClient: async (id) => {
      const client = await clients.findActive(id);
      // A personal access token may request only the scope of bookings.
      return client && providerMetadata(client, scopes.bookings);
    },
  });
  const resource = createResourceServer({ scopes, audience: config.bookingsAudience });
  return { scopes, resource, lifetimes, artifacts, deviceCodes, endSession, adapter };
}

type Protocol = ReturnType<typeof createProtocol>;
type GetProvider = ProviderManager['provider'];

/** What all pages need: sessions, cookies and the layout. */
function createPageServices(
  shared: SharedServices,
  { accounts, sessionStore }: Stores,
  { artifacts, endSession }: Protocol,
  provider: GetProvider,
) {
  const { config } = shared;
  const cookies = createBrowserCookies(provider, config.issuer);
  const providerSessions = createProviderSessions({ provider, revokeGrant: artifacts.revokeGrant, endSession });
  const sessions = createBrowserSessions({ providerSessions, accounts, sessionStore });
  const devices = createDeviceCookies({ cookies, keys: config.cookieKeys });
  const csrfTokens = createCsrfTokens({ cookies, keys: config.cookieKeys, origin: config.issuer });
  return {
    cookies,
    csrfTokens,
    devices,
    sessions,
    startSession: createStartSession({ ...shared, providerSessions, sessions, devices }),
    site: createSite({ findSignedIn: sessions.current, csrfTokens }),
    providers: createSocialProviders(config.socialProviders),
  };
}

type PageServices = ReturnType<typeof createPageServices>;

/** What the endpoints of tokens need, inside and outside of oidc-provider. */
function createTokenServices(shared: SharedServices, { clients }: Stores, protocol: Protocol) {
  const recordFirstUse = createReplayDetection(protocol.artifacts);
  return {
    limit: createRateLimit(shared.config.rateLimitPerMinute),
    recordFirstUse,
    recordUse: clients.recordUse,
    proofs: createProofVerifier({ secret: nonceSecretOf(shared.config), recordFirstUse }),
  };
}

interface Parts {
  readonly shared: SharedServices;
  readonly stores: Stores;
  readonly accountServices: AccountServices;
  readonly protocol: Protocol;
  readonly tokenServices: ReturnType<typeof createTokenServices>;
  readonly pageServices: PageServices;
  readonly providerPages: ProviderPages;
}

/** The manager creates a new provider whenever the signing keys change. */
function createManager(parts: Parts, fetch: ReturnType<typeof createOutboundFetch>): Promise<ProviderManager> {
  const { shared, stores, accountServices, protocol, tokenServices, pageServices, providerPages } = parts;
  const { providers } = pageServices;
  const { verifyNativeToken } = createNativeTokenVerifier({ ...shared, providers });
  return createProviderManager({
    ...shared,
    keyStore: createKeyStore({ db: shared.db, encryptionKey: shared.config.encryptionKey }),
    tokenLifetimeSeconds: protocol.lifetimes.longestSigned,
    createProvider: (keys) =>
      createProvider(
        {
          ...shared,
          ...accountServices,
          ...protocol,
          ...tokenServices,
          revokeGrant: protocol.artifacts.revokeGrant,
          fetch,
          facilities: stores.facilities,
          findAccount: stores.accounts.findWithFacilities,
          verifyNativeToken,
          isSocialProvider: (name) => providers.has(name),
          pages: providerPages,
        },
        keys,
      ),
  });
}

/** The pages outside of oidc-provider: sign-in, consent, devices, "Your account" and the portal. */
function createPages(parts: Parts, provider: GetProvider): Router {
  const { shared, stores, accountServices, protocol, pageServices } = parts;
  const { db } = shared;
  const { clients, members } = stores;
  const { scopes, resource, deviceCodes, lifetimes } = protocol;
  const { createCounter, emails, mailer } = accountServices;
  const interactions = createInteractions(provider);
  // Each limit counts the requests of one IP address. It is high because many users can share an address.
  const perHour = { windowSeconds: 3600 };
  const registrationLimit = createUsageLimit(createCounter, { name: 'register', limit: 200, ...perHour }, addressKey);
  const resetLinkLimit = createUsageLimit(createCounter, { name: 'reset', limit: 100, ...perHour }, addressKey);
  const options = {
    ...shared,
    ...stores,
    ...accountServices,
    ...pageServices,
    scopes,
    interactions,
    resetLinkLimit,
    userCodeGuard: createUserCodeGuard(createCounter),
    findDeviceRequest: createDeviceSignIn({ ...shared, provider, deviceCodes, lifetimeSeconds: lifetimes.deviceCode }),
    grants: createConsentGrants(provider, resource),
    authorizationFlow: createAuthorizationFlow({ ...shared, ...pageServices, store: createSocialStore({ db }) }),
    signInPages: createSignInPages({
      ...shared,
      ...stores,
      ...accountServices,
      ...pageServices,
      registrationLimit,
      sendVerification: emails.sendVerification,
    }),
    sendSocialLinked: emails.sendSocialLinked,
  };
  const social = createSocialRoutes(options);

  const invitationStore = createInvitationStore({ db });
  const submittedForms = createSubmittedForms({ db });
  const invitations = createInvitations({
    ...shared,
    store: invitationStore,
    mailer,
    // An invitation sends an e-mail. The limits protect the recipients, and the reputation of the mail server.
    perFacility: createUsageLimit(createCounter, { name: 'invite', limit: 100, ...perHour }),
    perRecipient: createUsageLimit(createCounter, { name: 'invited', limit: 10, ...perHour }, nameKey),
  });

  const router = Router();
  router.use(assetRoutes(assets));
  // The error handler of `interactionRoutes` also handles the errors of the paths of `social` below `/interaction`.
  router.use(social.router);
  router.use(interactionRoutes(options));
  router.use(devicePages(options));
  router.use(
    directSignInRoutes({ ...options, nameDestination: createSignInDestination({ invitationStore, members }) }),
  );
  router.use(passwordResetRoutes(options));
  router.use(emailVerificationRoutes(options));
  router.use(accountRoutes({ ...options, social }));
  router.use(
    createPortal({
      ...options,
      invitationStore,
      invitations,
      submittedForms,
      acceptances: createAcceptanceStore({ db }),
      history: createHistoryStore({ db }),
      tokens: createTokens({ clients, submittedForms }),
    }),
  );
  return router;
}

/** Mounts the handlers in the order in which they see a request. */
function createExpressApp(parts: Parts, providerManager: ProviderManager): Express {
  const { shared, stores, tokenServices, providerPages } = parts;
  const { config, logger, metrics, db } = shared;
  const { proofs } = tokenServices;
  const app = createHttpApp({
    logger,
    metrics,
    trustProxy: config.trustProxy,
    // If METRICS_PORT is set, another listener serves the metrics on that port (main.ts).
    serveMetrics: config.metricsPort === undefined,
    readiness: createReadiness({
      database: databaseCheck(db, migrationsDirectory),
      signingKeys: async () => {
        if (!providerManager.isReady()) throw new Error('not loaded yet');
      },
    }),
  });
  app.use(trustIssuerHost(config.issuer));
  app.use(normalisePath(protocolPaths));
  app.all([...publicDocumentPaths], allowEveryOrigin({ methods: 'GET', requestHeaders: '*' }));
  app.use(rewritePushedRequests([routes.pushed_authorization_request, routes.device_authorization]));
  /** Passes the request to oidc-provider. `locals.route` is the route with which the metrics count the request. */
  const serveProtocol: RequestHandler = (request, response) => {
    response.locals.route = routeTemplate(request.path);
    providerManager.handle(request, response);
  };
  // Programs send many requests to these paths, which therefore skip the routers of the pages.
  app.use((request, response, next) =>
    machinePaths.has(request.path) ? serveProtocol(request, response, next) : next(),
  );
  app.use(redirectPostedAuthorization(providerPages, [routes.authorization, routes.end_session]));
  app.use(
    createUserinfo({
      ...shared,
      path: routes.userinfo,
      provider: providerManager.provider,
      signingKeys: providerManager.signingKeys,
      proofs,
      findAccount: stores.accounts.findById,
    }),
  );
  app.use(createPages(parts, providerManager.provider));
  // oidc-provider serves all other paths. It also shows the page "not found" for unknown paths.
  app.use(serveProtocol);
  app.use(handleError);
  return app;
}
