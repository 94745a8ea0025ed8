// Registers the metrics that only the Bookings API has: the age of the signing keys, and their failed fetches.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';
import type { SigningKeys } from './auth/signing-keys.ts';

export function observeKeyAge({ registry }: Metrics, signingKeys: Pick<SigningKeys, 'age'>): void {
  new Gauge({
    name: 'jwks_age_seconds',
    help: 'Seconds since the signing keys were last fetched; absent before the first time.',
    registers: [registry],
    collect() {
      const milliseconds = signingKeys.age();
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
