// Logs and counts requests for the targets, as the services do.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pino } from 'pino';
import { Histogram } from 'prom-client';
import type { Caller } from './tokens.ts';

const logger = pino(
  { base: { service: 'bench' }, timestamp: pino.stdTimeFunctions.isoTime },
  pino.destination({ dest: 1, minLength: 8_192, periodicFlush: 100 }),
);
const requests = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Duration of requests, by method, route and status.',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

export interface Observed {
  readonly requestId: string;
  readonly route: string | undefined;
  readonly caller: Partial<Caller> | undefined;
}

/** Logs and counts the request when the response ends. `find` is called then. */
export function observe(request: IncomingMessage, response: ServerResponse, find: () => Observed): void {
  const startedAt = performance.now();
  const { method = '', url = '' } = request;
  response.on('close', () => {
    const seconds = (performance.now() - startedAt) / 1000;
    const { requestId, route = 'unmatched', caller: { clientId, subject } = {} } = find();
    const { statusCode: status } = response;
    requests.labels(method, route, String(status)).observe(seconds);
    const [path] = url.split('?', 1);
    const fields = { requestId, method, path, route, status, ms: Math.round(seconds * 10_000) / 10 };
    logger.info({ ...fields, address: request.socket.remoteAddress, clientId, subject }, 'request');
  });
}
