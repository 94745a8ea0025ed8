// Starts the Bookings API: configuration, database, keys, HTTP. Beside the commands the only file that reads the environment.
import { connectDatabase } from '@bay-booking/service/database/database';
import { createMetricsApp, messageClassesOf } from '@bay-booking/service/http/app';
import { runService, serve } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { collectProcessMetrics, createMetrics } from '@bay-booking/service/metrics';
import { createApp } from './app.ts';
import { createJwksCache } from './auth/jwks-cache.ts';
import { createCountingStore } from './bookings/counts/compaction.ts';
import { createAnswerStore } from './bookings/idempotency.ts';
import { startHousekeeping } from './cleanup-job.ts';
import { readBookingsConfig } from './config.ts';
import { malformedRequestResponse } from './http/malformed-request.ts';
import { countFailedFetches } from './metrics.ts';

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
  const db = connectDatabase({ ...connection, url: config.databaseUrl });
  const replica =
    config.databaseReadUrl === undefined
      ? undefined
      : {
          // What takes longer there is asked of the primary.
          db: connectDatabase({ ...connection, url: config.databaseReadUrl, queryTimeout: 2_000 }),
          wait: config.databaseReadWait,
        };
  const fetchFailed = countFailedFetches(metrics);
  const jwksCache = createJwksCache({
    issuer: config.authIssuer,
    jwksUri: config.authJwksUri,
    onFailure: (err) => {
      fetchFailed();
      logger.warn({ err }, 'signing keys not fetched');
    },
  });
  jwksCache.start();
  const housekeeping = startHousekeeping({ answers: createAnswerStore(db), counting: createCountingStore(db), logger });
  const app = createApp({ config, db, replica, jwksCache, logger, metrics });
  await serve({
    listeners: [
      {
        name: 'api',
        handler: app,
        port: config.port,
        respondToMalformed: malformedRequestResponse,
        messageClasses: messageClassesOf(app),
      },
      ...(config.metricsPort === undefined
        ? []
        : [{ name: 'metrics', handler: createMetricsApp(metrics), port: config.metricsPort }]),
    ],
    logger,
    close: async () => {
      housekeeping.stop();
      jwksCache.close();
      await Promise.all([db.destroy(), replica?.db.destroy()]);
    },
  });
});
