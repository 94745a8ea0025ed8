// Starts auth: reads the environment, creates the application and serves it over HTTP until SIGTERM.
import { serviceListeners } from '@bay-booking/service/http/listeners';
import { runService, serve } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { collectProcessMetrics, createMetrics } from '@bay-booking/service/metrics';
import { createApp } from './app.ts';
import { readAuthConfig } from './config.ts';
import { malformedRequestResponse } from './http/errors.ts';

runService(async () => {
  const config = readAuthConfig(process.env);
  const logger = createLogger({ service: 'auth', level: config.logLevel });
  const metrics = createMetrics('auth');
  collectProcessMetrics(metrics);
  const { app, management, close } = await createApp({ config, logger, metrics });
  await serve({
    listeners: serviceListeners({
      name: 'http',
      app,
      management,
      respondToMalformed: malformedRequestResponse,
      publicUrl: config.issuer,
      config,
      metrics,
    }),
    logger,
    close,
  });
});
