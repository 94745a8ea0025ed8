// Creates the authorization server: all its services, and the Express application.
import { collectDatabaseMetrics, connectDatabase } from '@bay-booking/service/database/database';
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { createOutboundClient } from '@bay-booking/service/outbound/client';
import type { Express, RequestHandler } from 'express';
import { createAccountServices } from './accounts/account-services.ts';
import { createExpiredRowsStore } from './accounts/expired-rows-store.ts';
import { createAudit } from './audit/audit.ts';
import { createLogoutSender } from './backchannel-logout/sender.ts';
import { createLogoutStore } from './backchannel-logout/store.ts';
import { startCleanUp } from './cleanup-job.ts';
import { createClientStore } from './clients/store.ts';
import type { AuthConfig } from './config.ts';
import { createFacilityStore } from './facilities/store.ts';
import { allowEveryOrigin } from './http/cors.ts';
import { handleError } from './http/error-handler.ts';
import { normalisePath } from './http/normalised-path.ts';
import { createRateLimit } from './http/rate-limit.ts';
import type { SharedServices } from './http/shared-services.ts';
import { trustIssuerHost } from './http/trusted-host.ts';
import { createProviderPages } from './interaction/provider-pages.ts';
import { countEvents, observeKeys } from './metrics.ts';
import { migrationsDirectory } from './migrations-directory.ts';
import { createConsentGrants } from './oidc/authorization/consent-grants.ts';
import { createDeviceSignIn } from './oidc/authorization/device-sign-in.ts';
import { createInteractions } from './oidc/authorization/interactions.ts';
import { createScopeTable } from './oidc/authorization/scopes.ts';
import { providerMetadata } from './oidc/clients/metadata.ts';
import { createBrowserCookies } from './oidc/cookies.ts';
import { servePlainTokenRequests } from './oidc/endpoints/plain-client-credentials.ts';
import { redirectPostedAuthorization } from './oidc/endpoints/posted-authorization.ts';
import { rewritePushedRequests } from './oidc/endpoints/pushed-authorization.ts';
import { createUserinfo } from './oidc/endpoints/userinfo.ts';
import { createClientCredentials } from './oidc/grants/client-credentials.ts';
import { createOutboundFetch } from './oidc/outbound-fetch.ts';
import { machinePaths, protocolPaths, publicDocumentPaths, routes, routeTemplate } from './oidc/paths.ts';
import { createProvider } from './oidc/provider.ts';
import { createProviderManager } from './oidc/provider-manager.ts';
import { createProviderSessions } from './oidc/sessions.ts';
import { createAdapter } from './oidc/storage/adapter.ts';
import { createArtifactStore } from './oidc/storage/artifacts.ts';
import { createConcurrentUse } from './oidc/storage/concurrent-use.ts';
import { createDeviceCodes } from './oidc/storage/device-codes.ts';
import { createEndSession } from './oidc/storage/ended-sessions.ts';
import { claimsOf } from './oidc/tokens/claims.ts';
import { createSendLogoutToken } from './oidc/tokens/logout-tokens.ts';
import { createReplayDetection } from './oidc/tokens/replay-detection.ts';
import { createResourceServer } from './oidc/tokens/resource-server.ts';
import { createTokenLifetimes } from './oidc/tokens/token-lifetimes.ts';
import { createPortal } from './portal/portal.ts';
import { createKeyStore } from './signing-keys/store.ts';
import { createUserPages } from './user-pages.ts';

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
  const services = await createServices(dependencies);
  const { db, shared, artifacts, accountServices, logoutSender, outbound, providerManager } = services;
  const stopCleanUp = startCleanUp({
    cleanUps: [artifacts.cleanUp, createExpiredRowsStore({ db }).cleanUp],
    logger: dependencies.logger,
  });
  return {
    app: createExpressApp(dependencies, services),
    refreshKeys: providerManager.refresh,
    waitUntilIdle: async () => {
      await accountServices.emails.waitUntilIdle();
      await logoutSender.waitUntilIdle();
      await shared.audit.flush();
    },
    close: async () => {
      providerManager.close();
      stopCleanUp();
      await logoutSender.close();
      outbound.close();
      await accountServices.close();
      await shared.audit.flush();
      await db.destroy();
    },
  };
}

async function createServices({ config, logger, metrics }: AppDependencies) {
  // The database, and the services that all parts of the application share
  const db = connectDatabase({
    url: config.databaseUrl,
    applicationName: 'auth',
    poolMax: config.databasePoolMax,
    prepared: config.databasePrepared,
    migrationsDirectory,
  });
  const scopes = createScopeTable(config.scopeBase);
  const resource = createResourceServer({ scopes, audience: config.bookingsAudience });
  const lifetimes = createTokenLifetimes(config);
  const audit = countEvents(createAudit({ db, logger }), metrics);
  const shared: SharedServices = { config, logger, metrics, audit };
  collectDatabaseMetrics(metrics, db);

  // The stores, and the storage of oidc-provider
  const facilities = createFacilityStore({ db });
  const clients = createClientStore({ ...shared, db, accessTokenTtl: config.accessTokenTtl });
  const concurrentUse = createConcurrentUse();
  const artifacts = createArtifactStore({ db, concurrentUse });
  const deviceCodes = createDeviceCodes({ db, artifacts, concurrentUse });
  // The pages need the provider, and the provider needs the pages. The pages therefore get a function that returns the
  // provider, which is created later.
  const provider = () => providerManager.provider();
  const logoutSender = createLogoutSender({
    ...shared,
    store: createLogoutStore({ db }),
    send: createSendLogoutToken(provider),
    isReady: () => providerManager.isReady(),
  });
  const endSession = createEndSession({ db, sendLogoutTokens: logoutSender.sendQueued });
  const adapter = createAdapter({
    db,
    endSession,
    artifacts,
    deviceCodes,
    concurrentUse,
    interactionLifetime: lifetimes.interaction,
    findClient: async (id) => {
      const client = await clients.findActive(id);
      // A personal access token may request only the scope of bookings.
      return client && providerMetadata(client, scopes.bookings);
    },
  });

  // The pages of the users
  const accountServices = createAccountServices({ db, shared });
  const { accounts } = accountServices;
  const userPages = createUserPages({
    db,
    shared,
    cookies: createBrowserCookies(provider, config.issuer),
    providerSessions: createProviderSessions({ provider, revokeGrant: artifacts.revokeGrant, endSession }),
    interactions: createInteractions(provider),
    findDeviceRequest: createDeviceSignIn({
      ...shared,
      provider,
      deviceCodes,
      lifetimeSeconds: lifetimes.deviceCode,
    }),
    grants: createConsentGrants(provider, resource),
    accountServices,
    clients,
    facilities,
    scopes,
    sendLogoutTokens: logoutSender.sendQueued,
  });
  const providerPages = createProviderPages(userPages.site.findLayoutUser);

  // oidc-provider. The manager creates a new provider whenever the signing keys change.
  const outbound = createOutboundClient({ allowNetworks: config.outboundAllowNetworks });
  const recordFirstUse = createReplayDetection(artifacts);
  const limit = createRateLimit(config.rateLimitPerMinute);
  const clientCredentials = createClientCredentials({ ...shared, scopes, resource, clients });
  const providerManager = await createProviderManager({
    ...shared,
    keyStore: createKeyStore({ db, encryptionKey: config.encryptionKey }),
    tokenLifetimeSeconds: lifetimes.longestSigned,
    createProvider: (keys) =>
      createProvider(
        {
          ...shared,
          scopes,
          resource,
          lifetimes,
          limit,
          adapter,
          revokeGrant: artifacts.revokeGrant,
          concurrentUse,
          recordFirstUse,
          fetch: createOutboundFetch(outbound),
          clientCredentials,
          facilities,
          findAccount: accounts.findWithFacilities,
          signIn: accountServices.signIn,
          verifyNativeToken: userPages.verifyNativeToken,
          beginSocialAttempt: accountServices.beginSocialAttempt,
          findOrCreateSocialAccount: accountServices.findOrCreateSocialAccount,
          isSocialProvider: userPages.isSocialProvider,
          pages: providerPages,
        },
        keys,
      ),
  });
  observeKeys(metrics, providerManager.keys);
  return {
    db,
    shared,
    scopes,
    limit,
    facilities,
    clients,
    artifacts,
    accountServices,
    userPages,
    providerPages,
    logoutSender,
    outbound,
    recordFirstUse,
    clientCredentials,
    providerManager,
  };
}

type Services = Awaited<ReturnType<typeof createServices>>;

/** Mounts the handlers in the order in which they see a request. */
function createExpressApp({ config, logger, metrics }: AppDependencies, services: Services): Express {
  const { db, shared, scopes, limit, facilities, clients, accountServices, userPages, providerPages } = services;
  const { recordFirstUse, clientCredentials, providerManager } = services;
  const { accounts } = accountServices;
  const app = createHttpApp({
    logger,
    metrics,
    trustProxy: config.trustProxy,
    // If METRICS_PORT is set, another listener serves the metrics on that port (main.ts).
    serveMetrics: config.metricsPort === undefined,
    readiness: createReadiness({
      database: databaseCheck(db, migrationsDirectory),
      // A check that throws an error has failed.
      signingKeys: async () => {
        if (!providerManager.isReady()) throw new Error('not loaded yet');
      },
    }),
  });
  app.use(trustIssuerHost(config.issuer));
  app.use(normalisePath(protocolPaths));
  app.use(
    servePlainTokenRequests({
      ...shared,
      path: routes.token,
      // Until the signing keys are loaded, there is no provider. `serveProtocol` below then responds with a 503.
      provider: () => (providerManager.isReady() ? providerManager.provider() : undefined),
      bookingsScope: scopes.bookings,
      limit,
      issue: clientCredentials.issue,
    }),
  );
  app.all([...publicDocumentPaths], allowEveryOrigin({ methods: 'GET', requestHeaders: '*' }));
  app.use(rewritePushedRequests([routes.pushed_authorization_request, routes.device_authorization]));
  /** Passes the request to oidc-provider. `locals.route` is the route with which the metrics count the request. */
  const serveProtocol: RequestHandler = (request, response) => {
    response.locals.route = routeTemplate(request.path);
    providerManager.handle(request, response);
  };
  // Programs send many requests to these paths. The requests are served here, before the routers of the pages, because
  // each router takes time.
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
      recordFirstUse,
      claimsOf: async (id) => {
        const account = await accounts.findById(id);
        return account && !account.disabledAt ? claimsOf(account) : undefined;
      },
    }),
  );
  app.use(userPages.routes);
  app.use(
    createPortal({
      ...accountServices,
      ...userPages,
      db,
      shared,
      scopes,
      clients,
      facilities,
    }),
  );
  // oidc-provider serves all other paths. It also shows the page "not found" for unknown paths.
  app.use(serveProtocol);
  app.use(handleError);
  return app;
}
