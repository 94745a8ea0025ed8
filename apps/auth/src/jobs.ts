// Starts the periodic jobs that every instance runs.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';
import { eraseLateEvents } from './accounts/deletion-store.ts';
import { deleteExpiredRows } from './cleanup-store.ts';
import { sendExpiryReminders } from './clients/expiry-reminder-store.ts';
import type { Mailer } from './outbox/mailer.ts';
import type { RevocationStore } from './revocations/store.ts';

export function startLoops(options: {
  readonly db: Database;
  readonly logger: Logger;
  readonly mailer: Mailer;
  readonly issuer: string;
  readonly revocations: Pick<RevocationStore, 'publishExpiredTokens'>;
}) {
  const { db, logger, mailer, issuer, revocations } = options;
  const every = (intervalMs: number, name: string, run: Parameters<typeof startLoop>[0]['run']) =>
    startLoop({ name, intervalMs, logger, run });
  const reminders = every(60_000, 'remind of expiring tokens', () => sendExpiryReminders(db, mailer, issuer));
  const loops = [
    reminders,
    every(60_000, 'delete expired rows', () => deleteExpiredRows(db)),
    // Their access tokens must be rejected within 15 s.
    every(3_000, 'publish expired tokens', revocations.publishExpiredTokens),
    every(60_000, 'erase late audit events', () => eraseLateEvents(db)),
  ];
  return {
    remindOfExpiringTokens: reminders.wake,
    stop: () => Promise.all(loops.map(({ stop }) => stop())),
  };
}
