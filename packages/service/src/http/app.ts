// What does every HTTP service of ours do alike? Request id, access log, metrics, security headers, health (contract section 2).
// Routes, limits and the look of errors belong to the application.
import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { MessageClasses } from '../lifecycle.ts';
import { type Logger, withoutRedaction } from '../logging.ts';
import type { Metrics } from '../metrics.ts';
import type { Readiness } from './readiness.ts';

export interface HttpOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly readiness: () => Promise<Readiness>;
  readonly trustProxy?: boolean | number | string;
  /** `false` where `/metrics` has a port of its own. */
  readonly serveMetrics?: boolean;
  /** `false` where whoever answers writes the common headers itself, at once with all others: each set before costs extra. */
  readonly setHeaders?: boolean;
}

/** What the base leaves in `response.locals`; `route` is the template of the matched route, set by whoever matches it. */
export interface RequestLocals {
  readonly requestId: string;
  readonly logger: Logger;
  route?: string;
  /** The codes of the faults that the answer names, set by whoever writes it: counted and logged. */
  codes?: readonly string[];
}

/** An Express application that already answers `/health/*` and `/metrics`; the caller adds its routes and its error handler. */
export function createHttpApp({
  logger,
  metrics,
  readiness,
  trustProxy = false,
  serveMetrics = true,
  setHeaders = true,
}: HttpOptions): Express {
  const app = express();
  bringOwnMessages(app);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', trustProxy);
  app.use(observe(logger, metrics, trustProxy !== false));
  app.get('/health/live', setCommonHeaders, (_request, response) => void response.json({ status: 'live' }));
  app.get('/health/ready', setCommonHeaders, async (_request, response) => {
    const { ready, checks } = await readiness();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', checks });
  });
  if (serveMetrics) app.get('/metrics', setCommonHeaders, metricsHandler(metrics));
  if (setHeaders) app.use(setCommonHeaders);
  return app;
}

/** Express gives each request and response a prototype of its own; to have it from birth is cheaper than to have it changed. */
function bringOwnMessages(app: Express): void {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
}

/** For the server that the application is served by. */
export function messageClassesOf(app: Express): MessageClasses {
  return { IncomingMessage: app.request.constructor, ServerResponse: app.response.constructor } as MessageClasses;
}

/** Names and values by turns, as `writeHead` takes them fastest. */
export function commonHeaders(response: ServerResponse): string[] {
  const { requestId } = (response as Response).locals as RequestLocals;
  return ['X-Request-Id', requestId, 'X-Content-Type-Options', 'nosniff'];
}

function setCommonHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Request-Id', (response.locals as RequestLocals).requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  next();
}

export function createMetricsApp(metrics: Metrics): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/metrics', metricsHandler(metrics));
  return app;
}

function metricsHandler({ registry }: Metrics): RequestHandler {
  return async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  };
}

const requestIdForm = /^[A-Za-z0-9._:=+/-]{1,128}$/;
const traceForm = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;

// Few requests have something to say beyond their line in the access log, so that their logger is made when asked for. A class, since
// an accessor of an object literal makes a hidden class per request, which only a full garbage collection takes away.
class Locals implements RequestLocals {
  readonly requestId: string;
  readonly #trace: string | undefined;
  readonly #logger: Logger;
  route?: string;
  codes?: readonly string[];

  constructor(requestId: string, trace: string | undefined, logger: Logger) {
    this.requestId = requestId;
    this.#trace = trace;
    this.#logger = logger;
  }

  get logger(): Logger {
    return this.#logger.child({ requestId: this.requestId, ...(this.#trace && { traceId: this.#trace }) });
  }
}

function observe(logger: Logger, metrics: Metrics, behindProxy: boolean) {
  const accessLog = withoutRedaction(logger);
  return (request: Request, response: Response, next: NextFunction): void => {
    const started = performance.now();
    const { 'x-request-id': given, traceparent } = request.headers;
    const requestId = typeof given === 'string' && requestIdForm.test(given) ? given : randomUUID();
    // W3C Trace Context: the caller's trace goes into our lines, so that both sides' logs can be read together.
    const trace = typeof traceparent === 'string' ? traceForm.exec(traceparent)?.[1] : undefined;
    const locals = new Locals(requestId, trace, logger);
    response.locals = locals;
    const path = request.path;
    response.on('close', () => {
      const duration = performance.now() - started;
      const { route = (request.route as { path?: string } | undefined)?.path ?? 'unmatched', codes } = locals;
      metrics.observeRequest(request.method, route, response.statusCode, duration / 1000);
      for (const code of codes ?? []) metrics.countProblem(request.method, route, code);
      if (route === '/health/live' || route === '/health/ready' || route === '/metrics') return;
      // The path alone: a query may carry a code or a token. What is undefined is left out.
      accessLog.info(
        {
          requestId,
          traceId: trace,
          method: request.method,
          path,
          route,
          status: response.statusCode,
          ms: Math.round(duration * 10) / 10,
          address: behindProxy ? request.ip : request.socket.remoteAddress,
          problems: codes,
          aborted: response.writableFinished ? undefined : true,
        },
        'request',
      );
    });
    next();
  };
}
