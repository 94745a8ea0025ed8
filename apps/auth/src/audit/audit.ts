// Records audit events, which never contain a secret, as log lines and as rows of the table `audit_event`.
//
// If a row cannot be written, the request that caused the event still succeeds.
import type { RecordEvent } from '@bay-booking/records/record';
import { type Database, jsonText, type Queryable, query } from '@bay-booking/service/database/database';
import { type Logger, oncePerMinute, withoutRedaction } from '@bay-booking/service/logging';
import { canonicalName } from '../input/username.ts';

export interface AuditEvent extends RecordEvent {
  /** The IP address from which the request came. */
  readonly address?: string | undefined;
}

type TimedEvent = AuditEvent & { readonly at?: Date };

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

/** Stores events of now, or of their time `at`, in one statement. */
export async function storeEvents(on: Queryable, events: readonly TimedEvent[]): Promise<void> {
  const rows = events.map((event) => ({
    at: event.at ?? null,
    kind: event.kind,
    account_id: event.accountId ?? null,
    client_id: event.clientId ?? null,
    facility_id: event.facilityId ?? null,
    address: event.address ?? null,
    email_key: typeof event.detail?.email === 'string' ? canonicalName(event.detail.email) : null,
    detail: event.detail ?? {},
  }));
  await query(
    on,
    `insert into audit_event (at, kind, account_id, client_id, facility_id, address, email_key, detail)
     select coalesce(at, clock_timestamp()), kind, account_id, client_id, facility_id, address, email_key, detail
       from jsonb_to_recordset($1::jsonb)
           as e (at timestamptz, kind text, account_id text, client_id text, facility_id text, address text,
                 email_key text, detail jsonb)`,
    [jsonText(rows)],
  );
}

/** No statement runs for long. */
const deletedPerStatement = 5_000;

/** Deletes old events and returns their number. Only the database role that owns the table can delete events. */
export async function deleteOldEvents(db: Database, days: number): Promise<number> {
  for (let total = 0; ; ) {
    const rows = await query(
      db,
      `delete from audit_event where id = any (array(
         select id from audit_event where at < now() - make_interval(days => $1) order by id limit $2)) returning 1`,
      [days, deletedPerStatement],
    );
    total += rows.length;
    if (rows.length < deletedPerStatement) return total;
  }
}
