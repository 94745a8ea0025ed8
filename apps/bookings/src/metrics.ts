// What do we watch, beside what every service does? How old the authorization server's keys are that we verify with, whether fetching
// them fails, and where lists are read from. Bookings by outcome are in `http_problems_total` and in the request counts.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';
import type { JwksCache } from './auth/jwks-cache.ts';

export function observeJwksCache({ registry }: Metrics, jwksCache: Pick<JwksCache, 'age'>): void {
  new Gauge({
    name: 'jwks_age_seconds',
    help: 'Seconds since the signing keys were last fetched; absent before the first time.',
    registers: [registry],
    collect() {
      const age = jwksCache.age();
      if (age === undefined) this.reset();
      else this.set(age / 1000);
    },
  });
}

/** Answers what is to be called for each fetch that failed. */
export function countFailedFetches({ registry }: Metrics): () => void {
  const failures = new Counter({
    name: 'jwks_fetch_failures_total',
    help: 'Fetches of the signing keys that failed.',
    registers: [registry],
  });
  return () => failures.inc();
}

/** Answers what is to be called for each list that was read; `lag` is asked for when Prometheus asks. */
export function observeListReads(
  { registry }: Metrics,
  lag: () => Promise<number>,
): (source: 'primary' | 'replica', reason: string) => void {
  const counter = new Counter({
    name: 'database_reads_total',
    help: 'Lists by the server that they were read from, and why it was not the replica.',
    labelNames: ['source', 'reason'],
    registers: [registry],
  });
  new Gauge({
    name: 'replica_lag_bytes',
    help: 'What the primary has written and the replica has not replayed; absent while one of them does not say.',
    registers: [registry],
    async collect() {
      const bytes = await lag().catch(() => undefined);
      if (bytes === undefined) this.reset();
      else this.set(bytes);
    },
  });
  return (source, reason) => counter.inc({ source, reason });
}
