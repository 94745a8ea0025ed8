// Starts the Bookings API: reads the configuration, connects to the database, and starts the jobs and the HTTP server.
import { connectDatabase } from '@bay-booking/service/database/database';
import { serviceListeners } from '@bay-booking/service/http/listeners';
import { runService, serve } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { collectProcessMetrics, createMetrics } from '@bay-booking/service/metrics';
import { createBookingsApp } from './app.ts';
import { bookingsMigrations, readBookingsConfig } from './config.ts';
import { respondToMalformed } from './http/response.ts';
import { isoTimestamps } from './time/timestamps.ts';

runService(async () => {
  const config = readBookingsConfig(process.env);
  const logger = createLogger({ service: 'bookings', level: config.logLevel });
  const metrics = createMetrics('bookings');
  collectProcessMetrics(metrics);
  const db = connectDatabase({
    applicationName: 'bookings',
    url: config.databaseUrl,
    poolMax: config.databasePoolMax,
    migrationsDirectory: bookingsMigrations,
    types: isoTimestamps,
  });
  const stopping = new AbortController();
  const {
    express: app,
    management,
    start,
  } = createBookingsApp({ config, db, logger, metrics, stopping: stopping.signal });
  const stop = start();
  await serve({
    listeners: serviceListeners({
      name: 'api',
      app,
      management,
      respondToMalformed,
      publicUrl: config.baseUrl,
      config,
      metrics,
    }),
    logger,
    onStop: () => stopping.abort(),
    close: async () => {
      await stop();
      await db.destroy();
    },
  });
});
