// Locks records, stores the audit events of their changes, and finds what they refer to.
import type { RecordEvent } from '@bay-booking/records/record';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { storeEvents } from './audit.ts';

/** An arbitrary number that no other lock uses. */
const lockKey = 4_206_912_023;

/** Every change by an import or an operator takes it, so the numbers of their audit events are in their order. */
export const lockRecords = (tx: Queryable) => query(tx, 'select pg_advisory_xact_lock($1)', [lockKey]);

/** Stores the events, and adds them to those of the change. Each names the operator. */
export async function storeOperatorEvents(
  tx: Queryable,
  { clientId, events: stored }: { readonly clientId: string; readonly events: RecordEvent[] },
  events: readonly RecordEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const complete = events.map((event) => ({ ...event, detail: { ...event.detail, operator: clientId } }));
  await storeEvents(tx, complete);
  stored.push(...complete);
}

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
