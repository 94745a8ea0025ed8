// Starts the Bookings API: reads the configuration, connects to the database, fetches the signing keys of the
// authorization server, and starts the periodic jobs and the HTTP server.
import { linksBelow } from '@bay-booking/common/links';
import { connectDatabase } from '@bay-booking/service/database/database';
import { serviceListeners } from '@bay-booking/service/http/listeners';
import { runService, serve } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { collectProcessMetrics, createMetrics } from '@bay-booking/service/metrics';
import { createApp } from './app.ts';
import { createProofStore } from './auth/proof-store.ts';
import { createSigningKeys } from './auth/signing-keys.ts';
import { createStateItem } from './bookings/resource.ts';
import { createFeedStore } from './changes/feed/store.ts';
import { removeExpiredChanges } from './changes/retention.ts';
import { compactChanges, createCountCompaction } from './changes/totals/compaction.ts';
import { readBookingsConfig } from './config.ts';
import { migrationsDirectory } from './database/migrations-directory.ts';
import { createHoldStore } from './holds/store.ts';
import { malformedRequestResponse } from './http/error-responses.ts';
import { createIdempotencyStore } from './idempotency/store.ts';
import { countFailedFetches } from './metrics.ts';
import { startPeriodicJobs } from './periodic-jobs.ts';
import { isoTimestamps } from './time/timestamps.ts';
import { createWebhooks } from './webhooks/webhooks.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

runService(async () => {
  const config = readBookingsConfig(process.env);
  const logger = createLogger({ service: 'bookings', level: config.logLevel });
  const metrics = createMetrics('bookings');
  collectProcessMetrics(metrics);
  const connection = {
    applicationName: 'bookings',
    poolMax: config.databasePoolMax,
    prepared: config.databasePrepared,
  };
  const db = connectDatabase({ ...connection, url: config.databaseUrl, migrationsDirectory, types: isoTimestamps });
  const { authIssuer: issuer, authJwksUri: jwksUri } = config;
  const signingKeys = createSigningKeys({ issuer, jwksUri, logger, onFetchError: countFailedFetches(metrics) });
  // The service starts even if the authorization server is not ready yet.
  const stopSigningKeys = signingKeys.start();
  const idempotency = createIdempotencyStore(db);
  const holds = createHoldStore(db);
  const proofs = createProofStore(db);
  const retentionMilliseconds = config.changeRetentionDays * day;
  // Without WEBHOOK_KEY, the service has no webhooks.
  const webhooks =
    config.webhookKeys &&
    createWebhooks({
      db,
      config,
      keys: config.webhookKeys,
      bookingItem: createStateItem(linksBelow(config.baseUrl)),
      logger,
      metrics,
    });
  const stopWebhooks = webhooks?.start();
  const stopPeriodicJobs = startPeriodicJobs(
    [
      // An expired key, hold or proof has no effect, so its deletion may be late.
      { name: 'idempotency keys', intervalMilliseconds: 15 * minute, run: () => idempotency.deleteExpired(new Date()) },
      { name: 'expired holds', intervalMilliseconds: minute, run: () => holds.deleteExpired() },
      { name: 'DPoP proofs', intervalMilliseconds: 5 * minute, run: () => proofs.deleteExpired() },
      // A total is calculated from the bins and from each change that this job has not yet added to the bins.
      { name: 'counts', intervalMilliseconds: 10_000, run: () => compactChanges(db) },
      {
        name: 'retention of the change feed',
        intervalMilliseconds: minute,
        run: () => removeExpiredChanges(db, new Date(Date.now() - retentionMilliseconds)),
      },
      ...(webhooks?.periodicJobs ?? []),
    ],
    logger,
  );
  /**
   * Aborted when the service begins to stop. Requests that wait for changes of bookings (the change feed) then stop
   * waiting.
   */
  const stopping = new AbortController();
  const app = createApp({ config, db, signingKeys, logger, metrics, webhooks, stopping: stopping.signal });
  await serve({
    listeners: serviceListeners({ name: 'api', app, respondToMalformed: malformedRequestResponse, config, metrics }),
    logger,
    onStop: () => stopping.abort(),
    close: async () => {
      stopPeriodicJobs();
      await stopSigningKeys();
      await stopWebhooks?.();
      await db.destroy();
    },
  });
});
