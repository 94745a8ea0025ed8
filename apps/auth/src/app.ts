// Creates every part of auth and its Express application: the only composition root, with services.ts and pages.ts.
import { connectDatabase, logOutages } from '@bay-booking/service/database/database';
import { collectDatabaseMetrics } from '@bay-booking/service/database/metrics';
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { createOutboundClient } from '@bay-booking/service/outbound';
import { type Express, type RequestHandler, Router } from 'express';
import { createAudit } from './audit/audit.ts';
import { createClientStore } from './clients/store.ts';
import { type AuthConfig, migrationsDirectory } from './config.ts';
import { createFailureCounterFactory } from './guard/failure-counter.ts';
import { createPushedRequestLimit } from './guard/usage-limit.ts';
import {
  dropEmptyParameters,
  limitQuery,
  normaliseAuthorization,
  normalisePath,
  type RejectRequest,
  trustIssuerHost,
} from './http/corrected-request.ts';
import { handleError } from './http/errors.ts';
import { startLoops } from './jobs.ts';
import { createAccountManagement, rejectOperator } from './management/management.ts';
import { countEvents, observeKeys } from './metrics.ts';
import { createConsentGrants } from './oidc/authorization/consent-grants.ts';
import { createDeviceSignIn } from './oidc/authorization/device-sign-in.ts';
import { createInteractions } from './oidc/authorization/interactions.ts';
import { createRateLimit } from './oidc/clients/policy.ts';
import { createTokenReader } from './oidc/endpoints/bearer-token.ts';
import { allowCrossOrigin } from './oidc/endpoints/cors.ts';
import { peopleRoutes } from './oidc/endpoints/people.ts';
import { createRejectRequest, readForms } from './oidc/endpoints/rewritten-requests.ts';
import { createUserinfo } from './oidc/endpoints/userinfo.ts';
import { machinePaths, methodsOf, protocolPaths, routeTemplate } from './oidc/paths.ts';
import { createProvider } from './oidc/provider.ts';
import { createProviderManager, type ProviderManager } from './oidc/provider-manager.ts';
import type { ProviderOptions } from './oidc/provider-options.ts';
import { createScopeTable } from './oidc/scopes.ts';
import { createBrowserCookies, createProviderSessions } from './oidc/sessions.ts';
import { createArtifactStore } from './oidc/storage/artifacts.ts';
import { createDeviceCodes } from './oidc/storage/device-codes.ts';
import { createEndSession } from './oidc/storage/sessions.ts';
import { createProofVerifier, createReplayDetection, nonceSecretOf } from './oidc/tokens/dpop.ts';
import { createLogoutTokenSender } from './oidc/tokens/logout-tokens.ts';
import { createResourceServer } from './oidc/tokens/resource-server.ts';
import { createTokenLifetimes } from './oidc/tokens/token-lifetimes.ts';
import { createMailSender } from './outbox/mailer.ts';
import { createOutbox } from './outbox/outbox.ts';
import { createPages } from './pages.ts';
import { revocationRoutes } from './revocations/endpoint.ts';
import { createRevocationStore } from './revocations/store.ts';
import { createServices } from './services.ts';
import { createKeyStore } from './signing-keys/store.ts';
import { createSocialProviders } from './social/settings.ts';

interface AppDependencies {
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** @throws {WrongEncryptionKey} if KEY_ENCRYPTION_KEY cannot decrypt the stored signing keys */
export async function createApp({ config, logger, metrics }: AppDependencies) {
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
  const clients = createClientStore({ db });
  const revocations = createRevocationStore({ db });
  const outbound = createOutboundClient({ allowNetworks: config.outboundAllowNetworks });
  const socialProviders = createSocialProviders(config.socialProviders);

  // Most of what follows uses the provider, which gets its manager last.
  let manager: ProviderManager | undefined;
  const provider = () => (manager as ProviderManager).provider();
  const mailSender = createMailSender(config, logger);
  // The first check may come before the manager has tried to load the keys.
  const isReady = (): boolean => manager?.isReady() === true;
  const logoutTokenSender = createLogoutTokenSender(provider, audit, isReady);
  const senders = { mail: mailSender.sender, 'logout-token': logoutTokenSender };
  const outbox = createOutbox(db, logger, metrics, senders);
  const services = createServices({ config, logger, db, audit, outbox, createCounter });
  const { accounts, emails, mailer } = services;

  const scopes = createScopeTable(config.scopeBase);
  const resource = createResourceServer({ scopes, audience: config.bookingsAudience, issuer: config.issuer });
  const lifetimes = createTokenLifetimes(config);
  const artifacts = createArtifactStore({ db });
  const deviceCodes = createDeviceCodes({ db, artifacts });
  const endSession = createEndSession({ db, sendLogoutTokens: outbox.wake });
  const recordFirstUse = createReplayDetection(artifacts);
  const proofs = createProofVerifier(nonceSecretOf(config), recordFirstUse);
  const pages = createPages({
    config,
    db,
    audit,
    outbox,
    scopes,
    services,
    providers: socialProviders,
    cookies: createBrowserCookies(provider, config.issuer),
    interactions: createInteractions(provider),
    providerSessions: createProviderSessions(provider, artifacts, endSession),
    grants: createConsentGrants(provider, resource),
    findDeviceRequest: createDeviceSignIn(provider, config.issuer, deviceCodes, lifetimes.deviceCode),
  });
  const providerOptions: ProviderOptions = {
    config,
    logger,
    db,
    audit,
    outbound,
    scopes,
    resource,
    lifetimes,
    artifacts,
    deviceCodes,
    endSession,
    recordFirstUse,
    revocations,
    proofs,
    tokenRateLimit: createRateLimit(config.rateLimitPerMinute),
    limitPushedRequests: createPushedRequestLimit(createCounter),
    clients,
    services,
    socialProviders,
    pages: pages.providerPages,
  };
  // The manager creates a new provider whenever the signing keys change.
  const providerManager = await createProviderManager(
    createKeyStore({ db, encryptionKeys: config.encryptionKeys }),
    (keys) => createProvider(providerOptions, keys),
    lifetimes.longestSigned,
    logger,
  );
  manager = providerManager;
  observeKeys(metrics, providerManager.keys);
  const loops = startLoops({ db, logger, mailer, issuer: config.issuer, revocations });

  const readToken = createTokenReader(proofs, accounts, revocations, providerManager);
  const management = config.management
    ? await createAccountManagement({
        db,
        config,
        audit,
        readToken,
        needed: resource.management,
        sendLogoutTokens: outbox.wake,
        services,
      })
    : Router();
  const hasOwnPort = config.management && config.managementPort !== undefined;
  const readiness = createReadiness({
    database: databaseCheck(db, migrationsDirectory),
    signingKeys: async () => {
      if (!providerManager.isReady()) throw new Error('not loaded yet');
    },
  });
  const reject = createRejectRequest(pages.providerPages);
  const createServiceApp = (serveMetrics: boolean): Express =>
    createHttpApp({ logger, metrics, trustProxy: config.trustProxy, serveMetrics, readiness }).use(
      trustIssuerHost(config.issuer),
      normaliseAuthorization,
      normalisePath(protocolPaths),
      limitQuery(config.management ? rejectOperator(reject) : reject),
    );

  // If METRICS_PORT is set, another listener serves the metrics on that port (main.ts).
  const app = createServiceApp(config.metricsPort === undefined);
  const endpoints = [
    createUserinfo(readToken, providerManager),
    peopleRoutes(db, audit, readToken, providerManager),
    revocationRoutes(config.issuer, revocations, providerManager),
    ...(hasOwnPort ? [] : [management]),
  ];
  mountHandlers(app, providerManager, { reject, endpoints, pages: pages.router });
  return {
    app,
    /** The management API, if MANAGEMENT_PORT is set. */
    management: hasOwnPort ? createServiceApp(false).use(management, handleError) : undefined,
    /** Checks now whether the signing keys have changed. This also happens every 2 s. */
    refreshKeys: providerManager.refresh,
    /** Sends the e-mails about tokens that expire soon. This also happens every minute. */
    remindOfExpiringTokens: loops.remindOfExpiringTokens,
    /** Waits for work that continues after responses: audit events, e-mails and logout tokens. */
    waitUntilIdle: async () => {
      await emails.waitUntilIdle();
      await outbox.waitUntilIdle();
      await audit.flush();
    },
    close: async () => {
      await Promise.all([providerManager.close(), loops.stop()]);
      await emails.waitUntilIdle();
      await outbox.close();
      outbound.close();
      mailSender.close();
      await audit.flush();
      await db.destroy();
    },
  };
}

/** Mounts the handlers in the order in which they see a request. */
function mountHandlers(
  app: Express,
  manager: ProviderManager,
  { reject, endpoints, pages }: { reject: RejectRequest; endpoints: readonly RequestHandler[]; pages: Router },
): void {
  /** Passes the request to oidc-provider. `locals.route` is the route with which the metrics count the request. */
  const serveProtocol: RequestHandler = (request, response) => {
    response.locals.route = routeTemplate(request.path);
    manager.handle(request, response);
  };
  /** Programs send many requests to these paths, which therefore skip the routers that follow. */
  const serveDirectly: RequestHandler = (request, response, next) =>
    machinePaths.has(request.path) ? serveProtocol(request, response, next) : next();
  app.use(allowCrossOrigin);
  app.use(dropEmptyParameters(new Set(methodsOf.keys())));
  app.use(readForms(reject));
  app.use(serveDirectly);
  app.use([...endpoints]);
  app.use(pages);
  // oidc-provider serves all other paths. It also shows the page "not found" for unknown paths.
  app.use(serveProtocol);
  app.use(handleError);
}
