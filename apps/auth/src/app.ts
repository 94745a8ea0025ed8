// Creates the Express application of auth from its services: the only composition root, with services.ts.
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import { startLoop } from '@bay-booking/service/periodic';
import { type Express, type RequestHandler, Router } from 'express';
import { eraseLateEvents } from './account/deletion-store.ts';
import { accountRoutes } from './account/routes.ts';
import { deleteExpiredRows } from './accounts/expired-rows-store.ts';
import { sendExpiryReminders } from './clients/expiry-reminder-store.ts';
import { secondFactorRoutes } from './factors/second-factor-pages.ts';
import { securityRoutes } from './factors/security-pages.ts';
import { assetRoutes } from './html/asset.ts';
import { assets } from './html/render.ts';
import { allowEveryOrigin } from './http/cors.ts';
import { handleError } from './http/error-handler.ts';
import { normalisePath } from './http/normalised-path.ts';
import { trustIssuerHost } from './http/trusted-host.ts';
import { devicePages } from './interaction/device/device-pages.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { directSignInRoutes } from './interaction/sign-in/direct-sign-in-routes.ts';
import { emailVerificationRoutes } from './interaction/sign-in/email-verification-routes.ts';
import { passwordResetRoutes } from './interaction/sign-in/password-reset-routes.ts';
import { createSignInPages } from './interaction/sign-in/sign-in-pages.ts';
import { createSocialRoutes } from './interaction/sign-in/social-routes.ts';
import type { StartSession } from './interaction/sign-in/start-session.ts';
import { observeKeys } from './metrics.ts';
import { migrationsDirectory } from './migrations-directory.ts';
import { redirectPostedAuthorization } from './oidc/endpoints/posted-authorization.ts';
import { rewritePushedRequests } from './oidc/endpoints/pushed-authorization.ts';
import { createUserinfo } from './oidc/endpoints/userinfo.ts';
import { machinePaths, protocolPaths, publicDocumentPaths, routes, routeTemplate } from './oidc/paths.ts';
import { createProvider } from './oidc/provider.ts';
import { createProviderManager, type ProviderManager } from './oidc/provider-manager.ts';
import { createPortal } from './portal/portal.ts';
import { createSignInDestination } from './portal/sign-in-destination.ts';
import { createAuthorize } from './records/authorize.ts';
import { createAccountManagement } from './records/management.ts';
import { revocationRoutes } from './revocations/endpoint.ts';
import { type AppDependencies, createServices, type Services } from './services.ts';
import { createKeyStore } from './signing-keys/store.ts';

export interface AuthApp {
  readonly app: Express;
  /** The management API, if MANAGEMENT_PORT is set. */
  readonly management: Express | undefined;
  /** Checks now whether the signing keys have changed. This also happens every 2 s. */
  readonly refreshKeys: () => Promise<void>;
  /** Sends the e-mails about tokens that expire soon. This also happens every minute. */
  readonly remindOfExpiringTokens: () => Promise<void>;
  /** Waits for work that continues after responses: audit events, e-mails and logout tokens. */
  readonly waitUntilIdle: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** @throws {WrongEncryptionKey} if KEY_ENCRYPTION_KEY cannot decrypt the stored signing keys */
export async function createApp(dependencies: AppDependencies): Promise<AuthApp> {
  let manager: ProviderManager | undefined;
  const { services, startSession } = createServices(dependencies, () => manager);
  const { config, db, audit, emails, logger, mailer, mailSender, metrics, outbound, outbox } = services;
  // The manager creates a new provider whenever the signing keys change.
  const providerManager = await createProviderManager({
    logger,
    keyStore: createKeyStore({ db, encryptionKeys: config.encryptionKeys }),
    tokenLifetimeSeconds: services.lifetimes.longestSigned,
    createProvider: (keys) => createProvider(services, keys),
  });
  manager = providerManager;
  observeKeys(metrics, providerManager.keys);

  const reminders = startLoop({
    name: 'remind of expiring tokens',
    intervalMs: 60_000,
    logger,
    run: () => sendExpiryReminders(db, mailer, config.issuer),
  });
  const loops = [
    startLoop({ name: 'delete expired rows', intervalMs: 60_000, logger, run: () => deleteExpiredRows(db) }),
    // Their access tokens must be refused within 15 s.
    startLoop({
      name: 'publish expired tokens',
      intervalMs: 3_000,
      logger,
      run: services.revocations.publishExpiredTokens,
    }),
    reminders,
    startLoop({ name: 'erase late audit events', intervalMs: 60_000, logger, run: () => eraseLateEvents(db) }),
  ];

  const management =
    config.management === 'on'
      ? await createAccountManagement({
          ...services,
          authorize: createAuthorize(services, providerManager),
          sendLogoutTokens: outbox.wake,
        })
      : Router();
  const hasOwnPort = config.management === 'on' && config.managementPort !== undefined;
  const pages = createPages(services, startSession);
  return {
    app: createExpressApp(services, pages, providerManager, hasOwnPort ? Router() : management),
    management: hasOwnPort
      ? createServiceApp(services, providerManager, { serveMetrics: false }).use(management, handleError)
      : undefined,
    refreshKeys: providerManager.refresh,
    remindOfExpiringTokens: reminders.wake,
    waitUntilIdle: async () => {
      await emails.waitUntilIdle();
      await outbox.waitUntilIdle();
      await audit.flush();
    },
    close: async () => {
      await Promise.all([providerManager.close(), ...loops.map(({ stop }) => stop())]);
      await emails.waitUntilIdle();
      await outbox.close();
      outbound.close();
      mailSender.close();
      await audit.flush();
      await db.destroy();
    },
  };
}

/** The pages outside of oidc-provider: sign-in, consent, devices, "Your account" and the portal. */
function createPages(services: Services, startSession: StartSession): Router {
  const signInServices = { ...services, ...startSession };
  const signInPages = createSignInPages(signInServices);
  const social = createSocialRoutes(signInServices);
  const router = Router();
  router.use(assetRoutes(assets));
  // The error handler of `interactionRoutes` also handles the errors of the paths of `social` below `/interaction`.
  router.use(social.router);
  router.use(interactionRoutes(signInServices, signInPages));
  router.use(devicePages(services));
  router.use(secondFactorRoutes(signInServices));
  router.use(directSignInRoutes(services, signInPages, createSignInDestination(services)));
  router.use(passwordResetRoutes(signInServices));
  router.use(emailVerificationRoutes(services));
  router.use(accountRoutes(services, social));
  router.use(securityRoutes(signInServices));
  router.use(createPortal(signInServices));
  return router;
}

/** Mounts the handlers in the order in which they see a request. */
function createExpressApp(
  services: Services,
  pages: Router,
  providerManager: ProviderManager,
  management: Router,
): Express {
  const { config, providerPages } = services;
  // If METRICS_PORT is set, another listener serves the metrics on that port (main.ts).
  const app = createServiceApp(services, providerManager, { serveMetrics: config.metricsPort === undefined });
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
  app.use(createUserinfo(services, providerManager));
  app.use(revocationRoutes(services, providerManager));
  app.use(management);
  app.use(pages);
  // oidc-provider serves all other paths. It also shows the page "not found" for unknown paths.
  app.use(serveProtocol);
  app.use(handleError);
  return app;
}

function createServiceApp(
  { config, logger, metrics, db }: Services,
  providerManager: ProviderManager,
  { serveMetrics }: { readonly serveMetrics: boolean },
): Express {
  const app = createHttpApp({
    logger,
    metrics,
    trustProxy: config.trustProxy,
    serveMetrics,
    readiness: createReadiness({
      database: databaseCheck(db, migrationsDirectory),
      signingKeys: async () => {
        if (!providerManager.isReady()) throw new Error('not loaded yet');
      },
    }),
  });
  return app.use(trustIssuerHost(config.issuer));
}
