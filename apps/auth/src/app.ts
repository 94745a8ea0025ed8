// Creates every part of auth and its Express application: the only composition root, with composition/.
import { connectDatabase, logOutages } from '@bay-booking/service/database/database';
import { collectDatabaseMetrics } from '@bay-booking/service/database/metrics';
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { startLoop } from '@bay-booking/service/periodic';
import { type Express, type RequestHandler, Router } from 'express';
import { eraseLateEvents } from './account/deletion-store.ts';
import { deleteExpiredRows } from './accounts/expired-rows-store.ts';
import { createAudit } from './audit/audit.ts';
import { sendExpiryReminders } from './clients/expiry-reminder-store.ts';
import { composeAccounts } from './composition/accounts.ts';
import { composePages } from './composition/pages.ts';
import { composeProvider } from './composition/provider.ts';
import { type AuthConfig, migrationsDirectory } from './config.ts';
import { createFailureCounterFactory } from './guard/failure-counter.ts';
import {
  dropEmptyParameters,
  normaliseAuthorization,
  normalisePath,
  trustIssuerHost,
} from './http/corrected-request.ts';
import { allowCrossOrigin } from './http/cors.ts';
import { handleError } from './http/errors.ts';
import { limitQuery, type RejectRequest } from './http/request-limits.ts';
import { createAuthorize } from './management/authorize.ts';
import { createAccountManagement } from './management/management.ts';
import { countEvents, observeKeys } from './metrics.ts';
import { createRejectRequest, readForms } from './oidc/endpoints/rewritten-requests.ts';
import { createUserinfo } from './oidc/endpoints/userinfo.ts';
import { machinePaths, methodsOf, openPaths, pagePaths, protocolPaths, routeTemplate } from './oidc/paths.ts';
import { createProvider } from './oidc/provider.ts';
import { createProviderManager, type ProviderManager } from './oidc/provider-manager.ts';
import { createSendLogoutToken } from './oidc/tokens/logout-tokens.ts';
import { createLogoutTokenSender } from './outbox/logout-tokens.ts';
import { createMailSender } from './outbox/mailer.ts';
import { createOutbox } from './outbox/outbox.ts';
import { revocationRoutes } from './revocations/endpoint.ts';
import { createKeyStore } from './signing-keys/store.ts';

export interface AppDependencies {
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

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
export async function createApp({ config, logger, metrics }: AppDependencies): Promise<AuthApp> {
  const db = connectDatabase({
    url: config.databaseUrl,
    applicationName: 'auth',
    poolMax: config.databasePoolMax,
    migrationsDirectory,
  });
  collectDatabaseMetrics(metrics, db);
  logOutages(db, logger);
  const audit = countEvents(createAudit({ db, logger }), metrics);
  const createCounter = createFailureCounterFactory(db);

  // The provider needs most other parts, so they get its manager later.
  let manager: ProviderManager | undefined;
  const provider = () => (manager as ProviderManager).provider();
  // The first check may come before the manager has tried to load the keys.
  const isReady = (): boolean => manager?.isReady() === true;
  const mailSender = createMailSender(config, logger);
  const logoutTokenSender = createLogoutTokenSender(audit, createSendLogoutToken(provider), isReady);
  const senders = { mail: mailSender.sender, 'logout-token': logoutTokenSender };
  const outbox = createOutbox({ db, logger, metrics, senders });

  const accounts = composeAccounts({ config, logger, db, audit, outbox, createCounter });
  const protocol = composeProvider({ config, db, outbox, createCounter, provider });
  const pages = composePages({ config, db, audit, outbox, createCounter, accounts, protocol });
  const { providerPages, providers } = pages;
  const { emails, mailer } = accounts;
  const { lifetimes, outbound, revocations, scopes } = protocol;
  // The manager creates a new provider whenever the signing keys change.
  const providerManager = await createProviderManager({
    logger,
    keyStore: createKeyStore({ db, encryptionKeys: config.encryptionKeys }),
    tokenLifetimeSeconds: lifetimes.longestSigned,
    createProvider: (keys) =>
      createProvider({ ...accounts, ...protocol, config, logger, db, audit, providerPages, providers }, keys),
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
    startLoop({ name: 'publish expired tokens', intervalMs: 3_000, logger, run: revocations.publishExpiredTokens }),
    reminders,
    startLoop({ name: 'erase late audit events', intervalMs: 60_000, logger, run: () => eraseLateEvents(db) }),
  ];

  const management = config.management
    ? await createAccountManagement({
        ...accounts,
        config,
        db,
        audit,
        scopes,
        authorize: createAuthorize({ ...accounts, ...protocol }, providerManager),
        sendLogoutTokens: outbox.wake,
      })
    : Router();
  const hasOwnPort = config.management && config.managementPort !== undefined;
  const readiness = createReadiness({
    database: databaseCheck(db, migrationsDirectory),
    signingKeys: async () => {
      if (!providerManager.isReady()) throw new Error('not loaded yet');
    },
  });
  const reject = createRejectRequest(providerPages);
  const createServiceApp = (serveMetrics: boolean): Express =>
    createHttpApp({ logger, metrics, trustProxy: config.trustProxy, serveMetrics, readiness }).use(
      trustIssuerHost(config.issuer),
      normaliseAuthorization,
      normalisePath(protocolPaths),
      limitQuery(reject),
    );

  // If METRICS_PORT is set, another listener serves the metrics on that port (main.ts).
  const app = createServiceApp(config.metricsPort === undefined);
  mountHandlers(app, providerManager, {
    reject,
    endpoints: [
      createUserinfo({ ...accounts, ...protocol }, providerManager),
      revocationRoutes({ config, revocations }, providerManager),
      ...(hasOwnPort ? [] : [management]),
    ],
    pages: pages.router,
  });
  return {
    app,
    management: hasOwnPort ? createServiceApp(false).use(management, handleError) : undefined,
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

interface Handlers {
  readonly reject: RejectRequest;
  readonly endpoints: readonly RequestHandler[];
  readonly pages: Router;
}

/** Mounts the handlers in the order in which they see a request. */
function mountHandlers(app: Express, manager: ProviderManager, { reject, endpoints, pages }: Handlers): void {
  /** Passes the request to oidc-provider. `locals.route` is the route with which the metrics count the request. */
  const serveProtocol: RequestHandler = (request, response) => {
    response.locals.route = routeTemplate(request.path);
    manager.handle(request, response);
  };
  /** Programs send many requests to these paths, which therefore skip the routers that follow. */
  const serveDirectly: RequestHandler = (request, response, next) =>
    machinePaths.has(request.path) ? serveProtocol(request, response, next) : next();
  app.use(allowCrossOrigin({ methodsOf, pagePaths, openPaths }));
  app.use(dropEmptyParameters(new Set(methodsOf.keys())));
  app.use(readForms(reject));
  app.use(serveDirectly);
  app.use([...endpoints]);
  app.use(pages);
  // oidc-provider serves all other paths. It also shows the page "not found" for unknown paths.
  app.use(serveProtocol);
  app.use(handleError);
}
