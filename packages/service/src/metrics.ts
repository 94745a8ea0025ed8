// Creates a service's Prometheus registry.
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { failedLogWrites } from './logging.ts';

export type { Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(service: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const problems = new Counter({
    name: 'http_problems_total',
    help: 'Problems in responses, by method, route and error code.',
    labelNames: ['method', 'route', 'code'],
    registers: [registry],
  });
  return {
    registry,
    countProblem: (method: string, route: string, code: string): void => problems.labels(method, route, code).inc(),
    /** `route` is a template, because paths would create an unlimited number of labels. */
    observeRequest: (method: string, route: string, status: number, seconds: number): void =>
      requests.labels(method, route, String(status)).observe(seconds),
  };
}

/** Call it only once per process, because the observers of these metrics never stop. */
export function collectProcessMetrics(metrics: Metrics): void {
  collectDefaultMetrics({ register: metrics.registry });
  new Counter({
    name: 'log_writes_failed_total',
    help: 'Blocks of log lines that could not be written, for example because the disk is full.',
    registers: [metrics.registry],
    collect() {
      // Counter has no function that sets its value.
      this.reset();
      this.inc(failedLogWrites());
    },
  });
}
