// Shares what the records facility, location and bay have in common: events, outcomes and lists.
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import { type ChangeContext, createReads, type Outcome, outcomeOf, Stored, toWrite } from '@bay-booking/records/record';
import { type Queryable, query, send, type Transaction } from '@bay-booking/service/database/database';

/**
 * Allows one transaction at a time that changes records. It can then check that ids of locations and bays are unique
 * over the whole service. The primary keys cannot ensure this uniqueness, because they start with facility_id.
 */
export const lockPlacesOfService = (tx: Transaction): Promise<unknown> =>
  query(tx, 'select id from import_lock where id = 1 for update');

export type PlaceKind = 'facility' | 'location' | 'bay';
const collections = { facility: 'facilities', location: 'locations', bay: 'bays' } as const;

/** A kind of record with its table. */
export interface PlaceTable<R> {
  readonly table: PlaceKind;
  /** Those of the record. */
  readonly columns: string;
  /** Default: the row itself. */
  readonly recordOf?: (row: R) => R;
  /** Of the filters of the list (packages/service/src/page-statements.ts). */
  readonly conditions: Readonly<Record<string, string>>;
}

/** The reading functions of a kind. */
export function placeReads<R extends { readonly id: string }>(place: PlaceTable<R>) {
  const { table, columns, recordOf = (row) => row, conditions } = place;
  const from = `from ${table} where removed_at is null`;
  const orderBy = 'id collate "C"';
  const rows = { columns, from, orderBy, conditions, byKey: 'id = $1' };
  return {
    ...createReads(rows, (row: R) => new Stored(recordOf(row))),
    readAll: async (on: Queryable) =>
      (await query<R>(on, `select ${columns} ${from} order by ${orderBy}`)).map(recordOf),
  };
}

interface FoundRow<R> {
  readonly ownerId: string;
  readonly isActive: boolean;
  readonly record: R;
}

/**
 * Returns records by id, also removed ones, whose ids stay with the facility `ownerId`. Only the opening hours of a
 * location can change outside of the lock of `lockPlacesOfService`, so other rows need no lock, and bookings go on
 * meanwhile.
 */
export async function findRows<R extends { readonly id: string }>(
  tx: Transaction,
  { table, columns, recordOf = (row) => row }: Pick<PlaceTable<R>, 'table' | 'columns' | 'recordOf'>,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, FoundRow<R>>> {
  const owner = table === 'facility' ? 'id' : 'facility_id';
  const statement = `select ${owner} as "ownerId", removed_at is null as "isActive", ${columns} from ${table}
where id = any($1)`;
  const rows = await query<R & Omit<FoundRow<R>, 'record'>>(tx, statement, [[...ids]]);
  return new Map(
    rows.map(({ ownerId, isActive, ...row }) => [row.id, { ownerId, isActive, record: recordOf(row as never) }]),
  );
}

/** The id of the facility, or undefined if the parent does not exist. */
type FacilityOf<R> = (record: R) => string | undefined;

interface Upsert<R> {
  readonly context: ChangeContext<string>;
  /** Adds the fields that a record leaves out. */
  readonly complete: (record: R, before: R | undefined) => R;
}

/** Writes locations or bays. Also returns the rows as they were. Each statement writes rows of one facility. */
export async function upsertPlaces<R extends { readonly id: string }>(
  tx: Transaction,
  place: PlaceTable<R> & { readonly parent: PlaceKind; readonly write: string },
  records: readonly R[],
  { context, complete }: Upsert<R>,
) {
  const { table, parent, write } = place;
  const parentOf = (record: R): string => String(record[`${parent}Id` as keyof R]);
  const parents = await findRows<{ id: string }>(tx, { table: parent, columns: 'id' }, new Set(records.map(parentOf)));
  const facilityOf: FacilityOf<R> = (record) => {
    const stored = parents.get(parentOf(record));
    return stored?.isActive ? stored.ownerId : undefined;
  };
  const ids = records.map(({ id }) => id);
  const rows = await findRows<R>(tx, place, ids);
  const outcomes = records.map((record) => {
    const row = rows.get(record.id);
    const before = row?.isActive ? row.record : undefined;
    const facilityId = facilityOf(record);
    const owner = row?.ownerId ?? facilityId;
    const problems: PointerError[] = [];
    if (facilityId === undefined) problems.push(atPointer(`/${parent}Id`, 'invalid', `no ${parent} has this id`));
    else if (owner !== facilityId)
      problems.push(atPointer(`/${parent}Id`, 'conflict', `${record.id} belongs to facility ${owner}`));
    return outcomeOf(before && new Stored(before), new Stored(complete(record, before)), problems);
  });
  const written = storeOutcomes(tx, table, outcomes, (record) => facilityOf(record) as string, context);
  for (const [facilityId, group] of Map.groupBy(written, facilityOf))
    send(tx, write, [facilityId, JSON.stringify(group)]);
  return { outcomes, rows, written, facilityOf };
}

// The transaction may have waited for its lock since `now()`.
const insertEvents = `insert into management_event (at, action, client_id, facility_id, target, changed)
select clock_timestamp(), event ->> 'action', $2, event ->> 'facilityId', event ->> 'target',
  array(select jsonb_array_elements_text(event -> 'changed'))
from jsonb_array_elements($1::jsonb) with ordinality as events (event, position) order by position`;

/**
 * Stores the events of the records that are to be written, and returns these records. The lock of
 * `lockPlacesOfService` ensures that numbers become visible in their order.
 */
export function storeOutcomes<R extends { readonly id: string }>(
  tx: Transaction,
  kind: PlaceKind,
  outcomes: readonly Outcome<R>[],
  facilityIdOf: (record: R) => string,
  context: ChangeContext<string>,
): readonly R[] {
  const written = toWrite(outcomes);
  const events = written.map(({ action, after: { record }, changed }) => ({
    action: `${kind}.${action === 'create' ? 'created' : 'updated'}`,
    facilityId: facilityIdOf(record),
    target: `${collections[kind]}/${record.id}`,
    // Never the values.
    changed: changed.filter((name) => name !== 'id'),
  }));
  if (events.length > 0) send(tx, insertEvents, [JSON.stringify(events), context.clientId]);
  return written.map(({ after }) => after.record);
}

export function storeDeletion(
  tx: Transaction,
  kind: PlaceKind,
  facilityId: string,
  id: string,
  clientId: string,
): void {
  const event = { action: `${kind}.deleted`, facilityId, target: `${collections[kind]}/${id}`, changed: [] };
  send(tx, insertEvents, [JSON.stringify([event]), clientId]);
}
