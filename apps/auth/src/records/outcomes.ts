// Compares records with the stored ones, and stores the audit events of the differences.
import { offsetOf, type PageRequest } from '@bay-booking/common/page';
import { changedFields, etagOf, type Outcome, type Problem, type Stored } from '@bay-booking/records/record';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { textPattern } from '../accounts/field-rules.ts';
import { type AuditEvent, storeEvents } from '../audit/audit.ts';

export const line = { type: 'string', minLength: 1, maxLength: 256, pattern: `^${textPattern}$` } as const;

/** An arbitrary number that no other lock uses. */
const lockKey = 4_206_912_023;

/** Every change by an import or an operator takes it, so the numbers of their audit events are in their order. */
export const lockRecords = (tx: Queryable) => query(tx, 'select pg_advisory_xact_lock($1)', [lockKey]);

export interface Compared<R, State> {
  readonly outcome: Outcome<R>;
  readonly before: State | undefined;
  readonly after: State;
  /** Of the record, and names of secrets such as `password`. */
  readonly changed: readonly string[];
}

/** `read` converts the state to its record. `secrets` names changed secrets, which the record does not show. */
export function compare<R extends object, State>(
  before: State | undefined,
  after: State,
  read: (state: State) => Stored<R>,
  { problems, secrets }: { readonly problems: readonly Problem[]; readonly secrets: readonly string[] },
): Compared<R, State> {
  const stored = before && read(before);
  const later = read(after);
  const changed = [...changedFields(stored?.record, later.record), ...secrets];
  const action = stored === undefined ? 'create' : changed.length > 0 ? 'update' : 'unchanged';
  return { before, after, changed, outcome: { action, problems, before: stored, after: later } };
}

/** Stores the events, and returns them for the log. Each names the operator. */
export async function storeOperatorEvents(
  tx: Queryable,
  { clientId, notes }: { readonly clientId: string; readonly notes: unknown[] },
  events: readonly AuditEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const complete = events.map((event) => ({ ...event, detail: { ...event.detail, operator: clientId } }));
  await storeEvents(tx, complete);
  notes.push(...complete);
}

export const storedOf = <R extends object>(id: string, record: R, credentials: unknown = null): Stored<R> => ({
  id,
  record,
  etag: etagOf(record, credentials),
});

/** The rows of a page, and how many there are. */
export async function readRows<Row extends object>(
  on: Queryable,
  columns: string,
  source: string,
  { order, values, page }: { order: string; values: readonly unknown[]; page: PageRequest },
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const rows = await query<Row>(
    on,
    `select ${columns} ${source} order by ${order} limit ${Math.trunc(page.pageSize)} offset ${Math.trunc(offsetOf(page))}`,
    values,
  );
  const [count] = await query<{ total: number }>(on, `select count(*)::int as total ${source}`, values);
  return { rows, total: count?.total ?? 0 };
}

export async function findExisting(
  tx: Queryable,
  table: 'facility' | 'account' | 'deleted_account' | 'deleted_facility',
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await query<{ id: string }>(tx, `select id from ${table} where id = any ($1)`, [ids]);
  return new Set(rows.map(({ id }) => id));
}
