// Logs when the database becomes unavailable and when it is available again.
import type { Logger } from '../logging.ts';
import type { Database } from './database.ts';
import { isOutage } from './errors.ts';

const repeatMs = 60_000;

/**
 * During an outage, writes one line per minute with the number of failures. The line of each failed request has its own
 * cause.
 */
export function logOutages({ connections: { events } }: Database, logger: Logger): void {
  let lastLineAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let isAnnounced = false;
  events.on('failure', (err) => {
    if (!isOutage(err)) return;
    failures += 1;
    if (performance.now() - lastLineAt < repeatMs) return;
    lastLineAt = performance.now();
    isAnnounced = true;
    logger.error({ err, failures }, 'database unavailable');
    failures = 0;
  });
  events.on('success', () => {
    if (!isAnnounced) return;
    isAnnounced = false;
    logger.info({ failures }, 'database available again');
  });
}
