// Stores and deletes audit events (table `audit_event`). For operators, who change records, also locks the records,
// lists their events and finds what they refer to.
import { textSchema } from '@bay-booking/common/text';
import type { ChangeContext, Fields, RecordEvent } from '@bay-booking/records/record';
import { type Database, jsonText, type Queryable, query } from '@bay-booking/service/database/database';
import { canonicalName } from '../input/username.ts';

export interface AuditEvent extends RecordEvent {
  /** The IP address that the request came from. */
  readonly address?: string | undefined;
}

export type TimedEvent = AuditEvent & { readonly at?: Date };

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

/** An arbitrary number that no other lock uses. */
const lockKey = 4_206_912_023;

/** Every change by an import or an operator takes it, so the numbers of their audit events are in their order. */
export const lockRecords = (tx: Queryable) => query(tx, 'select pg_advisory_xact_lock($1)', [lockKey]);

/** Stores the events and adds them to those of the change. Each names the operator. */
export async function storeOperatorEvents(
  tx: Queryable,
  { clientId, events: stored }: ChangeContext,
  events: readonly RecordEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const complete = events.map((event) => ({ ...event, detail: { ...event.detail, operator: clientId } }));
  await storeEvents(tx, complete);
  stored.push(...complete);
}

/** The trail has no user names, because they are personal data. The paths contain those of today. */
export const operatorEvents = {
  rows: `select e.id as number, e.at, e.kind as action, e.detail ->> 'operator' as "clientId", null as subject,
         e.facility_id as "facilityId", coalesce(e.detail -> 'changed', '[]') as changed,
         case when e.client_id is not null then 'clients/' || e.client_id
              when e.account_id is not null or e.detail ? 'account'
                then 'accounts/' || coalesce(a.username, e.account_id, e.detail ->> 'account')
              when e.facility_id is not null then 'facilities/' || e.facility_id
              else 'export' end as target, coalesce(e.account_id, e.detail ->> 'account') as account, a.username_key
    from audit_event e left join account a on a.id = coalesce(e.account_id, e.detail ->> 'account')
   where e.detail ? 'operator'`,
  filters: { account: { ...textSchema, description: 'The id or user name of an account.' } },
  conditions: { account: 'account = {account} or username_key = {usernameKey}', usernameKey: 'true' },
  complete: (filter: Fields): Fields =>
    typeof filter.account === 'string' ? { ...filter, usernameKey: canonicalName(filter.account) } : filter,
};

const findIds = async (
  tx: Queryable,
  table: string,
  ids: readonly string[],
  condition = 'true',
): Promise<ReadonlySet<string>> =>
  new Set(
    ids.length === 0
      ? []
      : (await query<{ id: string }>(tx, `select id from ${table} where id = any ($1) and ${condition}`, [ids])).map(
          ({ id }) => id,
        ),
  );

export const findDeleted = (tx: Queryable, kind: 'facility' | 'account', ids: readonly string[]) =>
  findIds(tx, `deleted_${kind}`, ids);

/** Leaves out facilities that this transaction disables, because the file may be the export of another installation. */
export const findDisabled = (tx: Queryable, facilityIds: readonly string[]) =>
  findIds(tx, 'facility', facilityIds, 'disabled_at < now()');

/** Returns the ids that do not exist. */
export async function findMissing(
  tx: Queryable,
  kind: 'facility' | 'account',
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set(ids).difference(await findIds(tx, kind, ids));
}

/** The time as in responses. */
export const isoTime = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export const withoutNulls = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** What an import does with a record of a deleted account. */
export const skipped = { action: 'unchanged', problems: [] } as const;
