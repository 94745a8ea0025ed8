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
