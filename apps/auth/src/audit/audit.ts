// Records audit events, which never contain a secret: logs each at once and stores those of 100 ms together.
//
// If a row cannot be written, the request that caused the event still succeeds.
import type { Database } from '@bay-booking/service/database/database';
import { type Logger, oncePerMinute, withoutRedaction } from '@bay-booking/service/logging';
import { type AuditEvent, storeEvents, type TimedEvent } from './store.ts';

export type Audit = ReturnType<typeof createAudit>;

/** Further events are logged but not stored. */
const maxQueued = 5_000;
/** How long events are collected, so that one statement stores the events of many tokens. */
const collectMilliseconds = 100;

export function createAudit({ db, logger }: { db: Database; logger: Logger }) {
  const eventLog = withoutRedaction(logger);
  let queue: TimedEvent[] = [];
  const logFailure = oncePerMinute((err: unknown, events: number) =>
    logger.warn({ err, events }, 'audit events could not be stored and are only in the log'),
  );
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  /** Stores the events in one statement. Never rejects. */
  const write = async (events: readonly TimedEvent[]): Promise<void> => {
    try {
      await storeEvents(db, events);
    } catch (err) {
      logFailure(err, events.length);
    }
  };

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    while (writing) await writing;
    if (queue.length === 0) return;
    const events = queue;
    queue = [];
    writing = write(events).finally(() => {
      writing = undefined;
    });
    await writing;
  };

  const log = (event: AuditEvent): void => eventLog.info({ audit: event }, event.kind);

  return {
    /** Logs an event that `storeEvents` has stored. */
    log,
    record(event: AuditEvent): void {
      log(event);
      if (queue.length >= maxQueued) return;
      queue.push({ ...event, at: new Date() });
      timer ??= setTimeout(() => void flush(), collectMilliseconds);
    },
    /** Resolves when every event that was recorded so far is stored, or could not be stored. */
    flush,
  };
}
