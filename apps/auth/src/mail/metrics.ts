// Registers the metrics of e-mails: the number of attempts for each result, and the age of the oldest unsent e-mail.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';

const results = ['sent', 'retried', 'failed', 'rejected'] as const;
export type MailResult = (typeof results)[number];

/** Returns the function that counts a result. `oldest` returns the age of the oldest unsent e-mail, in seconds. */
export function observeMail({ registry }: Metrics, oldest: () => Promise<number>): (result: MailResult) => void {
  const counter = new Counter({
    name: 'auth_mail_total',
    help: 'E-mails by result: sent, retried (repeated later), failed (given up) or rejected (the outbox is full).',
    labelNames: ['result'],
    registers: [registry],
  });
  // Prometheus sees the increase from 0 to 1.
  for (const result of results) counter.inc({ result }, 0);
  new Gauge({
    name: 'auth_mail_oldest_seconds',
    help: 'Age of the oldest e-mail that was not sent yet; 0 if none waits.',
    registers: [registry],
    async collect() {
      // If the database is unavailable, the gauge is 0, and Prometheus still gets all other metrics.
      this.set(await oldest().catch(() => 0));
    },
  });
  return (result) => counter.inc({ result });
}
