// Creates every store and service once and connects them: the HTTP application, endpoints, webhooks and jobs.
import { formats } from '@bay-booking/common/date-times';
import type { ErrorOptions } from '@bay-booking/common/errors';
import { linksBelow } from '@bay-booking/common/links';
import { scopesOf } from '@bay-booking/common/scopes';
import { type Database, logOutages } from '@bay-booking/service/database/database';
import { collectDatabaseMetrics } from '@bay-booking/service/database/metrics';
import { mountEndpoints } from '@bay-booking/service/http/api/router';
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import { createIdempotency } from '@bay-booking/service/idempotency';
import { type Logger, oncePerMinute } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Express } from 'express';
import { createAuditLog } from './audit-log.ts';
import { checkScope, checkStepUp, createRequestAuthorizer, sufficientScopes } from './auth/access-token.ts';
import { createProofStore } from './auth/proof-store.ts';
import { createRevocations } from './auth/revocations.ts';
import { createSigningKeys, type SigningKeysOptions } from './auth/signing-keys.ts';
import { createAvailabilityEndpoint } from './availability/endpoints.ts';
import { bookingItemExample, bookingItemSchema, createStateItem } from './bookings/booking.ts';
import { createBookingEndpoints } from './bookings/endpoints.ts';
import { createSearchStore } from './bookings/search/store.ts';
import { createBookingStore } from './bookings/storage/store.ts';
import { createChangeWatcher } from './changes/feed/change-watcher.ts';
import { createFeedEndpoint } from './changes/feed/endpoints.ts';
import { createFeedStore } from './changes/feed/store.ts';
import { createHistoryEndpoints } from './changes/history/endpoints.ts';
import { createHistoryStore } from './changes/history/store.ts';
import { createClosureEndpoints } from './closures/endpoints.ts';
import { createClosureStore } from './closures/store.ts';
import { bookingsMigrations, type Config } from './config.ts';
import { mountDaySheet } from './day-sheet/routes.ts';
import { createErasureEndpoint } from './erasure/endpoints.ts';
import { createErasure } from './erasure/erase.ts';
import { apiError, errors } from './errors.ts';
import { createGroupEndpoints } from './groups/endpoints.ts';
import { createHoldEndpoints } from './holds/endpoints.ts';
import { createHoldStore, endHoldRights } from './holds/store.ts';
import { createCallerRateLimit } from './http/rate-limit.ts';
import { escapeUndecodablePath, removeBasePath } from './http/request-path.ts';
import { mountApiPath, mountErrorHandler, pathOptions, setCommonHeaders } from './http/response.ts';
import { listJobs, startJobs } from './jobs.ts';
import { createMeEndpoint } from './me/endpoint.ts';
import { countFailedFetches, observeAges } from './metrics.ts';
import { mountDocuments } from './openapi/routes.ts';
import { createOpeningHoursEndpoints } from './opening-hours/endpoints.ts';
import { createOpeningHoursStore } from './opening-hours/store.ts';
import { createCatalogue } from './places/catalogue-store.ts';
import { createPlacesEndpoints } from './places/endpoints.ts';
import { createPlaceManagement } from './places/management.ts';
import { createActivity } from './places/status-store.ts';
import { createPlacesStore } from './places/store.ts';
import { createUsageEndpoint } from './usage/endpoints.ts';
import { createUsageStore } from './usage/store.ts';
import { setDisabledFacilities } from './webhooks/disabled-store.ts';
import { endWebhookRights } from './webhooks/rights-store.ts';
import { connectWebhooks } from './webhooks/webhooks.ts';

export interface AppOptions {
  readonly config: Config;
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now?: () => Date;
  /** Aborted when the process begins to stop. Requests that wait for changes then get their response. */
  readonly stopping?: AbortSignal;
  /** Replaces the intervals of the signing keys. */
  readonly signingKeys?: Partial<SigningKeysOptions>;
}

export function createBookingsApp(options: AppOptions) {
  const services = createServices(options);
  const { config, logger } = options;
  const { signingKeys, revocations, webhooks } = services;
  const endpoints = createEndpoints(services);
  const jobs = [...listJobs(services), ...(webhooks?.periodicJobs ?? [])];
  return {
    endpoints,
    ...createExpressApps(options, services, endpoints),
    jobs,
    signingKeys,
    revocations,
    webhooks,
    scopes: scopesOf(config.scopeBase),
    /** Starts the work in the background. Returns a function that stops it. */
    start: (): (() => Promise<void>) => {
      const stops = [signingKeys.start(), revocations.start(), webhooks?.start(), startJobs(jobs, logger)];
      return async () => {
        await Promise.all(stops.map((stop) => stop?.()));
      };
    },
  };
}

type Services = ReturnType<typeof createServices>;

function createServices({ config, db, logger, metrics, now = () => new Date(), ...options }: AppOptions) {
  const shared = {
    config,
    metrics,
    link: linksBelow(config.baseUrl),
    audit: createAuditLog(logger),
    now,
  };
  const { authIssuer: issuer, authJwksUri: jwksUri } = config;
  const onFetchError = countFailedFetches(metrics);
  const signingKeys = createSigningKeys({ issuer, jwksUri, logger, onFetchError, ...options.signingKeys });
  const feed = createFeedStore(db);
  const changeWatcher = createChangeWatcher({ store: feed, stopping: options.stopping });
  const revocations = createRevocations({
    uri: config.authRevocationsUri,
    issuer,
    signingKeys,
    pollSeconds: config.revocationPollSeconds,
    endRights: [
      async () => changeWatcher.endWaits((caller) => revocations.isRevoked(caller)),
      (entries) => endHoldRights(db, entries),
      (entries) => endWebhookRights(db, entries),
    ],
    setDisabled: (ids) => setDisabledFacilities(db, ids),
    logger,
    timeout: options.signingKeys?.timeout,
  });
  const noAccess = (options: ErrorOptions) => apiError('ERR00012', options);
  const idempotency = createIdempotency(db, { ...errors, noAccess });
  const places = createPlacesStore(db);
  const bookingItem = createStateItem(shared.link);
  return {
    ...shared,
    db,
    signingKeys,
    revocations,
    feed,
    changeWatcher,
    idempotency,
    places,
    catalogue: createCatalogue(db),
    holds: createHoldStore(db),
    proofs: createProofStore(db),
    bookingItem,
    erasure: createErasure(db, logger),
    // If WEBHOOK_KEY is unset, the service has no webhooks.
    webhooks:
      config.webhookKeys &&
      connectWebhooks({ ...shared, db, keys: config.webhookKeys, feed, idempotency, bookingItem, logger }),
  };
}

function createEndpoints(services: Services) {
  const { db, config, places, holds, webhooks } = services;
  const bookingExample = bookingItemExample(services.link);
  const bookings = { ...services, store: createBookingStore(db), searches: createSearchStore(db) };
  return [
    ...createBookingEndpoints(bookings),
    ...createGroupEndpoints(bookings),
    createFeedEndpoint({ ...services, bookingExample, bookingItemSchema }),
    ...createHistoryEndpoints({ ...services, history: createHistoryStore(db), bookingExample }),
    createErasureEndpoint(services),
    ...createPlacesEndpoints({ ...services, store: places }),
    createMeEndpoint(services),
    createUsageEndpoint({ ...services, usage: createUsageStore(db) }),
    ...createOpeningHoursEndpoints({ ...services, store: createOpeningHoursStore(db) }),
    ...createClosureEndpoints({ ...services, store: createClosureStore(db) }),
    createAvailabilityEndpoint({ ...services, findHold: holds.find }),
    // A maximum of 0 holds switches holds off.
    ...(config.holdsPerOwner === 0 ? [] : createHoldEndpoints({ ...services, store: holds })),
    ...(webhooks?.endpoints ?? []),
  ];
}

/**
 * Mounts middleware and routes in the order in which they run. If MANAGEMENT_PORT is set, the management API has an
 * application of its own.
 */
function createExpressApps(
  { config, db, logger, metrics }: AppOptions,
  { signingKeys, revocations, proofs, link, audit, now }: Services,
  endpoints: ReturnType<typeof createEndpoints>,
): { readonly express: Express; readonly management: Express | undefined } {
  const { baseUrl, authIssuer, audience, rateLimitPerMinute, metricsPort, managementPort, trustProxy } = config;
  const { daySheetClientId } = config;
  const scopes = scopesOf(config.scopeBase);
  // If METRICS_PORT is set, another listener serves `/metrics`.
  const serveMetrics = metricsPort === undefined;
  collectDatabaseMetrics(metrics, db);
  logOutages(db, logger);
  observeAges(metrics, { keys: signingKeys.age, revocations: revocations.age });

  const readiness = createReadiness({
    database: databaseCheck(db, bookingsMigrations),
    signingKey: async () => {
      if (signingKeys.age() === undefined) throw new Error('no signing key has been fetched yet');
    },
    revocations: async () => {
      if (revocations.age() === undefined) throw new Error('the list of revocations has not been read yet');
    },
  });
  const createServiceApp = (options: { readonly serveMetrics: boolean }): Express =>
    createHttpApp({ logger, metrics, trustProxy, readiness, ...options }).use(
      setCommonHeaders,
      removeBasePath(baseUrl),
      escapeUndecodablePath,
    );
  const app = createServiceApp({ serveMetrics });
  const authorize = createRequestAuthorizer({
    signingKeys,
    revocations,
    issuer: authIssuer,
    audience,
    baseUrl,
    useProof: proofs.use,
    now,
  });
  const rateLimit = createCallerRateLimit(
    db,
    rateLimitPerMinute,
    oncePerMinute((err) => logger.warn({ err }, 'rate limit not counted')),
  );
  const noteRequest = config.management ? createActivity(db, logger) : undefined;
  mountEndpoints(app, endpoints, {
    ...pathOptions,
    authorize,
    check: (caller, endpoint) => {
      checkScope(caller, sufficientScopes(scopes, endpoint.access), baseUrl);
      if (config.stepUp === 'schedule') checkStepUp(caller, endpoint, { baseUrl, now: now() });
      noteRequest?.(caller);
      return rateLimit?.(caller);
    },
    formats,
    reading: 'lenient',
    cacheControl: 'private, no-cache',
  });
  let management: Express | undefined;
  if (config.management) {
    if (managementPort !== undefined) management = createServiceApp({ serveMetrics: false });
    (management ?? app).use(createPlaceManagement({ db, config, link, audit, authorize, rateLimit }));
    if (management) mountErrorHandler(management);
  }
  // `createHttpApp` has mounted the GET handlers of these paths. The loop adds the responses to other methods.
  for (const path of ['/health/live', '/health/ready', ...(serveMetrics ? ['/metrics'] : [])])
    mountApiPath(app, path, { GET: (_request, _response, next) => next() });
  mountDocuments(app, {
    endpoints,
    baseUrl,
    authIssuer,
    audience,
    scopes,
    hasDaySheet: daySheetClientId !== undefined,
  });
  if (daySheetClientId !== undefined) mountDaySheet(app, { baseUrl, authIssuer, clientId: daySheetClientId, scopes });
  mountErrorHandler(app);
  return { express: app, management };
}
