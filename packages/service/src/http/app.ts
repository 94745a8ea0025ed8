// Creates the Express application of a service, with request ids, the access log, metrics and health checks
// (docs/behaviour.md, "Health, metrics and logs"). The service adds its routes, limits and error responses.
import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { Logger } from '../logging.ts';
import type { Metrics } from '../metrics.ts';
import { observeRequests, type RequestLocals } from './observe-requests.ts';
import type { Readiness } from './readiness.ts';
import type { MessageClasses } from './server.ts';

export type { RequestLocals } from './observe-requests.ts';

export interface HttpAppOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly readiness: () => Promise<Readiness>;
  /** The setting `trust proxy` of Express. Default: false. */
  readonly trustProxy?: boolean | number | string;
  /** Whether the application serves `/metrics`. Default: true. */
  readonly serveMetrics?: boolean;
  /**
   * Whether the application sets the common headers of every response. Default: true. A service can instead write these
   * headers together with its other headers, which is faster than setting each header separately.
   */
  readonly setHeaders?: boolean;
}

export function createHttpApp({
  logger,
  metrics,
  readiness,
  trustProxy = false,
  serveMetrics = true,
  setHeaders = true,
}: HttpAppOptions): Express {
  const app = express();
  useMessageClasses(app);
  app.disable('x-powered-by');
  // The services set the ETag of a response themselves.
  app.disable('etag');
  app.set('trust proxy', trustProxy);
  app.use(observeRequests(logger, metrics, { trustsProxy: trustProxy !== false }));
  // If `setHeaders` is false, the service sets the common headers of its own responses, but not those of these routes.
  app.get('/health/live', setCommonHeaders, (_request, response) => void response.json({ status: 'live' }));
  app.get('/health/ready', setCommonHeaders, async (_request, response) => {
    const { ready, checks } = await readiness();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', checks });
  });
  if (serveMetrics) app.get('/metrics', setCommonHeaders, metricsHandler(metrics));
  if (setHeaders) app.use(setCommonHeaders);
  return app;
}

/** Creates the application for `/metrics` on its own port. */
export function createMetricsApp(metrics: Metrics): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/metrics', metricsHandler(metrics));
  return app;
}

/**
 * Gives the application its own classes of requests and responses. Express changes the prototype of every request and
 * response. With these classes (see `messageClassesOf`), the server creates requests and responses that already have
 * the right prototypes, so the change takes no time.
 */
function useMessageClasses(app: Express): void {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
}

/** Returns the classes with which the HTTP server of this application should create requests and responses. */
export function messageClassesOf(app: Express): MessageClasses {
  return { IncomingMessage: app.request.constructor, ServerResponse: app.response.constructor } as MessageClasses;
}

/**
 * Returns the headers that every response has, as alternating names and values, which is the format of `writeHead`. The
 * library helmet is not used, because most of its headers are for HTML pages, whose headers apps/auth sets itself.
 */
export function commonHeaders(response: ServerResponse): string[] {
  const { requestId } = (response as Response).locals as RequestLocals;
  return ['X-Request-Id', requestId, 'X-Content-Type-Options', 'nosniff'];
}

function setCommonHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Request-Id', (response.locals as RequestLocals).requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  next();
}

function metricsHandler({ registry }: Metrics): RequestHandler {
  return async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  };
}
