// Registers the metrics that only the Bookings API has, about what it reads from the authorization server.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';

/** Returns milliseconds, or undefined before the first time. */
type Age = () => number | undefined;

export function observeAges({ registry }: Metrics, ages: { readonly keys: Age; readonly revocations: Age }): void {
  const gauges = [
    {
      name: 'jwks_age_seconds',
      help: 'Seconds since the signing keys were last fetched; absent before the first time.',
      age: ages.keys,
    },
    {
      name: 'bookings_revocations_age_seconds',
      help: 'Seconds since the list of revocations was last read; absent before the first time.',
      age: ages.revocations,
    },
  ];
  for (const { age, ...description } of gauges)
    new Gauge({
      ...description,
      registers: [registry],
      collect() {
        const milliseconds = age();
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
