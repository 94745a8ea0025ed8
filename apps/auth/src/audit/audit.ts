// Who did what, when, from where? Every sign-in, refusal, grant, revocation, consent, key and client change becomes one event: a
// structured log line and a row of audit_event, never with a secret. Losing an event must not fail the request it tells of.
import { type Database, jsonText } from '@bay-booking/service/database/database';
import { type Logger, withoutRedaction } from '@bay-booking/service/logging';

export interface AuditEvent {
  /** Subject and deed, such as `sign-in.refused` or `client.revoked`. */
  readonly kind: string;
  readonly accountId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly facilityId?: string | undefined;
  readonly address?: string | undefined;
  readonly detail?: Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;
}

export type Audit = ReturnType<typeof createAudit>;

/** Rows that may wait for the database at once; beyond, the log line alone tells of the event. */
const waitingAtMost = 5_000;
/** Rows go together, so that a busy token endpoint does not write one statement per token. */
const gatherFor = 100;

export function createAudit({ db, logger }: { db: Database; logger: Logger }) {
  // An event has no field that could hold a secret.
  const eventLog = withoutRedaction(logger);
  let waiting: (AuditEvent & { at: Date })[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const write = async (events: readonly (AuditEvent & { at: Date })[]): Promise<void> => {
    const rows = events.map((event) => ({
      at: event.at,
      kind: event.kind,
      account_id: event.accountId ?? null,
      client_id: event.clientId ?? null,
      facility_id: event.facilityId ?? null,
      address: event.address ?? null,
      detail: event.detail ?? {},
    }));
    try {
      await db.raw(
        `insert into audit_event (at, kind, account_id, client_id, facility_id, address, detail)
         select * from jsonb_to_recordset(?::jsonb)
             as e (at timestamptz, kind text, account_id text, client_id text, facility_id text, address text, detail jsonb)`,
        [jsonText(rows)],
      );
    } catch (err) {
      logger.warn({ err, events: rows.length }, 'audit events are in the log alone');
    }
  };

  /** One statement at a time: what a slow database keeps waiting waits where it is counted. */
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (writing) {
      next ??= writing.then(() => {
        next = undefined;
        return flush();
      });
      return next;
    }
    if (waiting.length === 0) return Promise.resolve();
    const events = waiting;
    waiting = [];
    writing = write(events).finally(() => {
      writing = undefined;
    });
    return writing;
  };

  return {
    record(event: AuditEvent): void {
      eventLog.info({ audit: event }, event.kind);
      if (waiting.length >= waitingAtMost) return;
      waiting.push({ ...event, at: new Date() });
      timer ??= setTimeout(() => void flush(), gatherFor);
    },
    /** Resolves when every row recorded so far is written; before a shutdown. */
    settled: flush,
  };
}
