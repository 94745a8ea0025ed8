// What is served? The one place where everything is wired and listed.
import { linksBelow } from '@bay-booking/common/links';
import type { Database } from '@bay-booking/service/database';
import { collectDatabaseMetrics } from '@bay-booking/service/database-metrics';
import { createHttpApp } from '@bay-booking/service/http';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { createReadiness, databaseCheck } from '@bay-booking/service/readiness';
import type { Express } from 'express';
import { createBearer } from './bearer.ts';
import { createAnswerStore } from './bookings/answers.ts';
import { createBookingEndpoints } from './bookings/endpoints.ts';
import { createCandidates } from './bookings/ids.ts';
import { createSearchStore } from './bookings/search-store.ts';
import { createBookingStore } from './bookings/store.ts';
import type { Config } from './config.ts';
import { mountDocuments } from './documents.ts';
import type { Keyring } from './keyring.ts';
import { observeKeyring } from './metrics.ts';
import { createCatalogue } from './places/catalogue.ts';
import { createPlacesEndpoints } from './places/endpoints.ts';
import { createPlacesStore } from './places/store.ts';
import { mountPrefix } from './prefix.ts';
import { createRateLimit } from './rate-limit.ts';
import { mountEndpoints, mountFailures } from './routes.ts';

export const migrationsDirectory = `${import.meta.dirname}/../migrations`;

export interface AppOptions {
  readonly config: Pick<
    Config,
    'baseUrl' | 'authIssuer' | 'audience' | 'scopeBase' | 'trustProxy' | 'rateLimitPerMinute' | 'metricsPort'
  >;
  readonly db: Database;
  readonly keyring: Keyring;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now?: () => Date;
}

export function createEndpoints({ db, baseUrl, now }: { db: Database; baseUrl: string; now: () => Date }) {
  const link = linksBelow(baseUrl);
  const places = createPlacesStore(db);
  return [
    ...createBookingEndpoints({
      store: createBookingStore(db),
      answers: createAnswerStore(db),
      searches: createSearchStore(db),
      candidates: createCandidates(),
      catalogue: createCatalogue({ store: places }),
      link,
      now,
      baseUrl,
    }),
    ...createPlacesEndpoints({ store: places, link }),
  ];
}

export function createApp({ config, db, keyring, logger, metrics, now = () => new Date() }: AppOptions): Express {
  const { baseUrl, authIssuer, audience, scopeBase } = config;
  const scope = `${scopeBase}/golf/bookings`;
  const endpoints = createEndpoints({ db, baseUrl, now });
  collectDatabaseMetrics(metrics, { primary: db });
  observeKeyring(metrics, keyring);
  const app = createHttpApp({
    logger,
    metrics,
    trustProxy: config.trustProxy,
    serveMetrics: config.metricsPort === undefined,
    readiness: createReadiness({
      database: databaseCheck(db, migrationsDirectory),
      signingKey: async () => {
        if (keyring.age() === undefined) throw new Error('no signing key has been seen yet');
      },
    }),
  });
  mountPrefix(app, baseUrl);
  mountEndpoints(app, endpoints, {
    authorize: createBearer({
      keyring,
      issuer: authIssuer,
      audience,
      scope,
      resourceMetadataUrl: `${baseUrl}/.well-known/oauth-protected-resource`,
      now,
    }),
    limit: createRateLimit(db, config.rateLimitPerMinute, (err) => logger.warn({ err }, 'rate limit not counted')),
  });
  mountDocuments(app, { endpoints, baseUrl, authIssuer, audience, scope });
  mountFailures(app);
  return app;
}
