// What do we watch, beside what every service does? How old the authorization server's keys are that we verify with, and whether
// fetching them fails. Bookings by outcome are in `http_problems_total` and in the request counts.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';
import type { Keyring } from './keyring.ts';

export function observeKeyring({ registry }: Metrics, keyring: Pick<Keyring, 'age'>): void {
  new Gauge({
    name: 'jwks_age_seconds',
    help: 'Seconds since the signing keys were last fetched; absent before the first time.',
    registers: [registry],
    collect() {
      const age = keyring.age();
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
