// Registers the metrics that only the Bookings API has, about what it reads from the authorization server.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';

/** `age` returns milliseconds, or undefined before the first time. */
export function observeAge(
  { registry }: Metrics,
  { name, help, age }: { name: string; help: string; age: () => number | undefined },
): void {
  new Gauge({
    name,
    help,
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
