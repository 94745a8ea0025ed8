// How is the process doing? A Prometheus registry with Node's own metrics and, per route, rate, errors and duration (the RED method).
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { failedLogWrites } from './logging.ts';

export type { Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** `route` is a template such as `/api/bookings/{id}`, never a raw path: labels stay bounded. Duration in seconds. */
  readonly observeRequest: (method: string, route: string, status: number, duration: number) => void;
  /** `code` of an error catalogue, such as BOOK00002. */
  readonly countProblem: (method: string, route: string, code: string) => void;
}

export function createMetrics(service: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request to its answer, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const problems = new Counter({
    name: 'http_problems_total',
    help: 'Faults that answers named, by the code of the error catalogue.',
    labelNames: ['method', 'route', 'code'],
    registers: [registry],
  });
  return {
    registry,
    countProblem: (method, route, code) => problems.labels(method, route, code).inc(),
    observeRequest: (method, route, status, duration) =>
      requests.labels(method, route, String(status)).observe(duration),
  };
}

/** Memory, CPU, event loop and garbage collection; started once per process since it keeps observers alive. */
export function collectProcessMetrics(metrics: Metrics): void {
  collectDefaultMetrics({ register: metrics.registry });
  new Counter({
    name: 'log_writes_failed_total',
    help: 'Blocks of log lines that could not be written, as on a full disk.',
    registers: [metrics.registry],
    collect() {
      this.reset();
      this.inc(failedLogWrites());
    },
  });
}
