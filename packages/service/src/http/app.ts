// Creates the Express application of a service with the functions that every service has: request ids, the access log,
// metrics and health (docs/behaviour.md, "Health, metrics and logs"). The service adds its routes, limits and error
// responses.
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
  readonly trustProxy?: boolean | number | string;
  /** `false` if `/metrics` has its own port. */
  readonly serveMetrics?: boolean;
  /**
   * `false` if the service writes `commonHeaders` itself, together with its other headers. This is faster than setting
   * each header separately.
   */
  readonly setHeaders?: boolean;
}

/**
 * Creates an application that responds to `/health/*` and `/metrics`. The caller adds its routes and its error
 * handler.
 */
export function createHttpApp({
  logger,
  metrics,
  readiness,
  trustProxy = false,
  serveMetrics = true,
  setHeaders = true,
}: HttpAppOptions): Express {
  const app = express();
  createMessageClasses(app);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', trustProxy);
  app.use(observeRequests(logger, metrics, trustProxy !== false));
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
 * Creates classes of requests and responses that have the prototypes of the Express application. Express sets these
 * prototypes for every request and response. This takes no time if the server has already created them with these
 * classes.
 */
function createMessageClasses(app: Express): void {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
}

/** Returns the classes with which the server of this application must create requests and responses. */
export function messageClassesOf(app: Express): MessageClasses {
  return { IncomingMessage: app.request.constructor, ServerResponse: app.response.constructor } as MessageClasses;
}

/**
 * Returns the headers of every response as alternating names and values, the format of `writeHead`. The library helmet
 * is not used, because most of its headers are for HTML pages. Other responses need only `nosniff`.
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
