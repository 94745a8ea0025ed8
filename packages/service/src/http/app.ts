// Creates a service's Express application with request ids, access log, metrics and health checks (docs/behaviour.md,
// "Health, metrics and logs").
import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from '../logging.ts';
import type { Metrics } from '../metrics.ts';
import { observeRequests } from './observe-requests.ts';
import type { Readiness } from './readiness.ts';

export { noteCause, type RequestLocals, sendErrors } from './observe-requests.ts';

export interface HttpAppOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly readiness: () => Promise<Readiness>;
  readonly trustProxy?: false | number | string;
  readonly serveMetrics?: boolean;
}

export function createHttpApp(options: HttpAppOptions): Express {
  const { logger, metrics, readiness, trustProxy = false, serveMetrics = true } = options;
  const app = express();
  app.disable('x-powered-by');
  // The services set the ETag themselves.
  app.disable('etag');
  app.set('trust proxy', trustProxy);
  app.use(observeRequests(logger, metrics, { trustsProxy: trustProxy !== false }));
  app.get('/health/live', (_request, response) => void response.json({ status: 'live' }));
  app.get('/health/ready', async (_request, response) => {
    const { ready, checks } = await readiness();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', checks });
  });
  if (serveMetrics) app.use(serveMetricsOf(metrics));
  return app;
}

export function createMetricsApp(metrics: Metrics): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(serveMetricsOf(metrics));
  return app;
}

/** Serves only this spelling of the path: a proxy that blocks `/metrics` may let other spellings pass. */
function serveMetricsOf({ registry }: Metrics): RequestHandler {
  return async ({ method, path }, response, next) => {
    if (path !== '/metrics' || (method !== 'GET' && method !== 'HEAD')) return next();
    response.type(registry.contentType).send(await registry.metrics());
  };
}
