// What is served? The one place where everything is wired and listed.
import { linksBelow } from '@bay-booking/common/links';
import { collectDatabaseMetrics, type Database } from '@bay-booking/service/database/database';
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Express, RequestHandler } from 'express';
import { createAccessTokenVerifier } from './auth/access-token.ts';
import type { JwksCache } from './auth/jwks-cache.ts';
import { createCandidates } from './bookings/booking-id.ts';
import { dateTimeHint, isDateTime } from './bookings/date-times.ts';
import { createBookingEndpoints } from './bookings/endpoints.ts';
import { createAnswerStore } from './bookings/idempotency.ts';
import { createSearchStore, type SearchStore } from './bookings/search/store.ts';
import { countReads } from './bookings/storage/statements.ts';
import { createBookingStore } from './bookings/storage/store.ts';
import type { Config } from './config.ts';
import { type CachedFlag, createCachedFlag } from './database/cached-flag.ts';
import { migrationsDirectory } from './database/migrations-directory.ts';
import { createReadRouter, type ReadRouter } from './database/replica/read-router.ts';
import { createReplicaStore } from './database/replica/store.ts';
import { withTimeout } from './database/with-timeout.ts';
import { mountBasePath } from './http/base-path.ts';
import { mountErrorHandler } from './http/error-handler.ts';
import { createRateLimit } from './http/rate-limit.ts';
import { mountEndpoints, mountPath } from './http/router.ts';
import { mountUndecodablePaths } from './http/undecodable-path.ts';
import { observeJwksCache, observeListReads } from './metrics.ts';
import { mountDocuments } from './openapi/routes.ts';
import { createCatalogue } from './places/catalogue.ts';
import { createPlacesEndpoints } from './places/endpoints.ts';
import { createPlacesStore, type PlacesStore } from './places/store.ts';

export interface AppOptions {
  readonly config: Pick<
    Config,
    'baseUrl' | 'authIssuer' | 'audience' | 'scopeBase' | 'trustProxy' | 'rateLimitPerMinute' | 'metricsPort'
  >;
  readonly db: Database;
  /** Where lists are read from if it keeps up; `wait` in milliseconds. */
  readonly replica?: { readonly db: Database; readonly wait: number } | undefined;
  readonly jwksCache: JwksCache;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now?: () => Date;
}

export function createEndpoints({
  db,
  reads,
  baseUrl,
  now,
}: {
  db: Database;
  reads?: ReadRouter | undefined;
  baseUrl: string;
  now: () => Date;
}) {
  const link = linksBelow(baseUrl);
  const places = createPlacesStore(db);
  const listed = reads
    ? listsThrough(reads, createCachedFlag(db, countReads.isComplete))
    : { searches: createSearchStore(db), places };
  return [
    ...createBookingEndpoints({
      store: createBookingStore(db),
      answers: createAnswerStore(db),
      searches: listed.searches,
      candidates: createCandidates(),
      catalogue: createCatalogue({ store: places }),
      link,
      now,
      baseUrl,
    }),
    ...createPlacesEndpoints({ store: { location: places.location, ...listed.places }, link }),
  ];
}

/** Lists alone: what a single booking or location says may decide about the next write. */
function listsThrough(reads: ReadRouter, isComplete: CachedFlag) {
  return {
    searches: {
      search: async (...asked) => {
        // Known before the replica's position is asked for, so that a replica that has come that far has the counts
        // too.
        const complete = await isComplete();
        return reads.run((db) => createSearchStore(db, { isComplete: async () => complete }).search(...asked));
      },
    } satisfies SearchStore,
    places: {
      locations: (...asked) => reads.run((db) => createPlacesStore(db).locations(...asked)),
      bays: (...asked) => reads.run((db) => createPlacesStore(db).bays(...asked)),
    } satisfies Pick<PlacesStore, 'locations' | 'bays'>,
  };
}

export function createApp({
  config,
  db,
  replica,
  jwksCache,
  logger,
  metrics,
  now = () => new Date(),
}: AppOptions): Express {
  const { baseUrl, authIssuer, audience, scopeBase } = config;
  const scope = `${scopeBase}/golf/bookings`;
  const reads = replica && readsOf(replica, { db, logger, metrics });
  const endpoints = createEndpoints({ db, reads, baseUrl, now });
  collectDatabaseMetrics(metrics, { primary: db, ...(replica && { replica: replica.db }) });
  observeJwksCache(metrics, jwksCache);
  const app = createHttpApp({
    logger,
    metrics,
    trustProxy: config.trustProxy,
    serveMetrics: config.metricsPort === undefined,
    setHeaders: false,
    readiness: createReadiness({
      database: databaseCheck(db, migrationsDirectory),
      signingKey: async () => {
        if (jwksCache.age() === undefined) throw new Error('no signing key has been seen yet');
      },
    }),
  });
  mountBasePath(app, baseUrl);
  mountUndecodablePaths(app);
  mountEndpoints(app, endpoints, {
    authorize: createAccessTokenVerifier({
      jwksCache,
      issuer: authIssuer,
      audience,
      scope,
      resourceMetadataUrl: `${baseUrl}/.well-known/oauth-protected-resource`,
      now,
    }),
    formats: { 'date-time': { test: isDateTime, hint: dateTimeHint } },
    rateLimit: createRateLimit(db, config.rateLimitPerMinute, (err) => logger.warn({ err }, 'rate limit not counted')),
  });
  // Answered above to GET and HEAD: what is left is 405 here too.
  const probes = ['/health/live', '/health/ready', ...(config.metricsPort === undefined ? ['/metrics'] : [])];
  const answered = new Map(['GET', 'HEAD'].map((method) => [method, passOn]));
  for (const path of probes) mountPath(app, path, answered);
  mountDocuments(app, { endpoints, baseUrl, authIssuer, audience, scope });
  mountErrorHandler(app);
  return app;
}

const passOn: RequestHandler = (_request, _response, next) => next();

function readsOf(
  { db: replica, wait }: NonNullable<AppOptions['replica']>,
  { db: primary, logger, metrics }: Pick<AppOptions, 'db' | 'logger' | 'metrics'>,
): ReadRouter {
  const store = createReplicaStore({ primary, replica });
  const count = observeListReads(metrics, () => withTimeout(1_000, store.position().then(store.lag)));
  return createReadRouter({
    primary,
    store,
    wait,
    onRead: (source, reason, err) => {
      count(source, reason);
      // Being late is everyday's business, and shown by the metric.
      if (err && reason !== 'behind') logger.warn({ err, reason }, 'list read from the primary');
    },
  });
}
