// Creates a service's Express application with request ids, access log, metrics and health checks (docs/behaviour.md,
// "Health, metrics and logs").
import { randomUUID } from 'node:crypto';
import type { ApiError } from '@bay-booking/common/errors';
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { type Logger, withoutRedaction } from '../logging.ts';
import type { Metrics } from '../metrics.ts';
import type { Readiness } from './readiness.ts';

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

/** Adds the cause of a 503 to the request's log line, so that no other line is needed. */
export function noteCause({ locals }: Pick<Response, 'locals'>, error: unknown): void {
  let cause = error as Error & { code?: unknown };
  while (Error.isError(cause.cause)) cause = cause.cause as typeof cause;
  (locals as RequestLocals).cause = typeof cause.code === 'string' ? cause.code : cause.message;
}

/** Sends the error envelope. `context` is added to the `contextData` of each error. */
export function sendErrors(response: Response, error: ApiError, context: Readonly<Record<string, unknown>> = {}): void {
  const { status, problems, headers, cause } = error;
  const locals = response.locals as RequestLocals;
  const err = Error.isError(cause) ? cause : error;
  locals.codes = problems.map(({ code }) => code);
  // A client error has a cause only if it shows a defect of the service.
  if (status === 503) noteCause(response, err);
  else if (status >= 500 || cause !== undefined) locals.logger.error({ err }, problems[0]?.code);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const errors = problems.map((problem) => ({ ...problem, contextData: { ...context, ...problem.contextData } }));
  response
    .set({ 'Cache-Control': 'no-store', ...headers })
    .status(status)
    .json({ errors });
}

const validRequestId = /^[A-Za-z0-9._:=+/-]{1,128}$/;
/** W3C Trace Context. Captures the trace id. */
const traceparentHeader = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;
const unloggedRoutes = ['/health/live', '/health/ready', '/metrics'];

/**
 * A class, because an object literal with a getter would take twice the memory: V8 creates a hidden class for each such
 * object. The logger is created only when it is used.
 */
export class RequestLocals {
  readonly requestId: string;
  readonly #traceId: string | undefined;
  readonly #logger: Logger;
  /** A template such as /api/bookings/{id}. Default: the path of the Express route. */
  route?: string;
  /** Error codes for the log and the metrics. */
  codes?: readonly string[];
  /** The client and the subject of the access token, for the log. */
  clientId?: string;
  subject?: string;
  /** The cause of a 503, for the log. */
  cause?: string;

  constructor(requestId: string, traceId: string | undefined, logger: Logger) {
    this.requestId = requestId;
    this.#traceId = traceId;
    this.#logger = logger;
  }

  get logger(): Logger {
    return this.#logger.child({ requestId: this.requestId, ...(this.#traceId && { traceId: this.#traceId }) });
  }
}

/**
 * Gives each request an id, a logger and common response headers. Logs and counts the request when its response ends.
 * If `trustsProxy` is true, the logged IP address comes from X-Forwarded-For.
 */
function observeRequests(logger: Logger, metrics: Metrics, { trustsProxy }: { readonly trustsProxy: boolean }) {
  // The fields of the access log contain no secrets, and redaction takes much CPU time.
  const accessLog = withoutRedaction(logger);
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now();
    const { 'x-request-id': givenId, traceparent } = request.headers;
    const requestId = typeof givenId === 'string' && validRequestId.test(givenId) ? givenId : randomUUID();
    const traceId = typeof traceparent === 'string' ? traceparentHeader.exec(traceparent)?.[1] : undefined;
    const locals = new RequestLocals(requestId, traceId, logger);
    response.locals = locals;
    // helmet is not used: most of its headers are for HTML pages, whose headers apps/auth sets itself.
    response.set({ 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff' });
    // Routers change the path later. The query may contain a code or a token.
    const path = request.path;
    response.on('close', () => {
      const durationMs = performance.now() - startedAt;
      const {
        route = (request.route as { path?: string } | undefined)?.path ?? 'unmatched',
        codes,
        clientId,
        subject,
        cause,
      } = locals;
      metrics.observeRequest(request.method, route, response.statusCode, durationMs / 1000);
      for (const code of codes ?? []) metrics.countProblem(request.method, route, code);
      if (unloggedRoutes.includes(route)) return;
      accessLog.info(
        {
          requestId,
          traceId,
          method: request.method,
          path,
          route,
          status: response.statusCode,
          ms: Math.round(durationMs * 10) / 10,
          address: trustsProxy ? request.ip : request.socket.remoteAddress,
          clientId,
          subject,
          problems: codes,
          cause,
          aborted: response.writableFinished ? undefined : true,
        },
        'request',
      );
    });
    next();
  };
}
