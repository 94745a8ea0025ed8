// Who did what, when, from where? Every sign-in, refusal, grant, revocation, consent, key and client change becomes one event: a
// structured log line and a row of audit_event, never with a secret. Losing an event must not fail the request it tells of.
import type { Database } from '@bay-booking/service/database';
import type { Logger } from '@bay-booking/service/logging';

export interface AuditEvent {
  /** Subject and deed, such as `sign-in.refused` or `client.revoked`. */
  readonly kind: string;
  readonly accountId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly facilityId?: string | undefined;
  readonly address?: string | undefined;
  readonly detail?: Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;
}

export interface AuditRow {
  readonly at: Date;
  readonly kind: string;
  readonly accountId: string | null;
  readonly clientId: string | null;
  readonly facilityId: string | null;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

export type RecordAudit = (event: AuditEvent) => void;
export type Audit = ReturnType<typeof createAudit>;

/** Rows that may wait for the database at once; beyond, the log line alone tells of the event. */
const waitingAtMost = 1_000;

export function createAudit({ db, logger }: { db: Database; logger: Logger }) {
  const waiting = new Set<Promise<void>>();

  const write = async ({ kind, accountId, clientId, facilityId, address, detail }: AuditEvent): Promise<void> => {
    try {
      await db.raw(
        `insert into audit_event (kind, account_id, client_id, facility_id, address, detail)
         values (?, ?, ?, ?, ?, ?::jsonb)`,
        [
          kind,
          accountId ?? null,
          clientId ?? null,
          facilityId ?? null,
          address ?? null,
          JSON.stringify(detail ?? {}).replaceAll('\\u0000', ''),
        ],
      );
    } catch (err) {
      logger.warn({ err, kind }, 'audit event is in the log alone');
    }
  };

  return {
    record(event: AuditEvent): void {
      logger.info({ audit: event }, event.kind);
      if (waiting.size >= waitingAtMost) return;
      const row = write(event).finally(() => waiting.delete(row));
      waiting.add(row);
    },

    /** Resolves when every row is written; for a clean shutdown. */
    async settled(): Promise<void> {
      await Promise.all(waiting);
    },

    async ofFacility(facilityId: string, limit = 100): Promise<readonly AuditRow[]> {
      return read('facility_id', facilityId, limit);
    },

    async ofAccount(accountId: string, limit = 100): Promise<readonly AuditRow[]> {
      return read('account_id', accountId, limit);
    },
  };

  async function read(column: 'facility_id' | 'account_id', id: string, limit: number): Promise<readonly AuditRow[]> {
    const { rows } = await db.raw<{ rows: AuditRow[] }>(
      `select at, kind, account_id as "accountId", client_id as "clientId", facility_id as "facilityId", address, detail
         from audit_event where ${column} = ? order by at desc, id desc limit ?`,
      [id, limit],
    );
    return rows;
  }
}
