// Registers metrics that only the Bookings API has: the age of the signing keys, failed fetches of the keys, the
// database server that each list was read from, and the lag of the replica. webhooks/metrics.ts registers the metrics
// of webhooks. The number of created and rejected bookings needs no metric of its own: the request counts and
// `http_problems_total`, which every service has, show it.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';
import type { JwksCache } from './auth/jwks-cache.ts';

export function observeJwksCache({ registry }: Metrics, jwksCache: Pick<JwksCache, 'age'>): void {
  new Gauge({
    name: 'jwks_age_seconds',
    help: 'Seconds since the signing keys were last fetched; absent before the first time.',
    registers: [registry],
    collect() {
      const milliseconds = jwksCache.age();
      if (milliseconds === undefined) this.reset();
      else this.set(milliseconds / 1000);
    },
  });
}

export function countFailedFetches({ registry }: Metrics): () => void {
  const counter = new Counter({
    name: 'jwks_fetch_failures_total',
    help: 'Fetches of the signing keys that failed.',
    registers: [registry],
  });
  return () => counter.inc();
}

/**
 * Returns a function that must be called for each list that was read. `source` is the server that the list was read
 * from. `reason` says why the list was not read from the replica, or is `none` if it was. `lagBytes` returns the lag of
 * the replica, and is called when Prometheus collects the metrics.
 */
export function observeListReads(
  { registry }: Metrics,
  lagBytes: () => Promise<number>,
): (source: 'primary' | 'replica', reason: string) => void {
  const counter = new Counter({
    name: 'database_reads_total',
    help: 'Lists by the server that they were read from, and why it was not the replica.',
    labelNames: ['source', 'reason'],
    registers: [registry],
  });
  new Gauge({
    name: 'replica_lag_bytes',
    help: 'Bytes of WAL that the replica has not replayed yet; absent while one of the servers does not respond.',
    registers: [registry],
    async collect() {
      const bytes = await lagBytes().catch(() => undefined);
      if (bytes === undefined) this.reset();
      else this.set(bytes);
    },
  });
  return (source, reason) => counter.inc({ source, reason });
}
