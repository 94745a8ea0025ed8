// Shares what the records facility, location and bay have in common: events, outcomes and lists.
import {
  type ChangeContext,
  createReads,
  isWritten,
  type Outcome,
  outcomeOf,
  type Problem,
  problem,
  Stored,
} from '@bay-booking/records/record';
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
  readonly recordOf: (row: R) => R;
  /** The columns of the filters of the list. */
  readonly filters: Readonly<Record<string, string>>;
}

/** The reading functions of a kind. */
export function placeReads<R extends { readonly id: string }>({ table, columns, recordOf, filters }: PlaceTable<R>) {
  const from = `from ${table} where removed_at is null`;
  const orderBy = 'id collate "C"';
  const conditions = Object.fromEntries(
    Object.entries(filters).map(([name, column]) => [name, `${column} = {${name}}`]),
  );
  const rows = { columns, from, orderBy, conditions, byKey: 'id = $1' };
  return {
    ...createReads(rows, (row: R) => new Stored(recordOf(row))),
    readAll: async (on: Queryable) =>
      (await query<R>(on, `select ${columns} ${from} order by ${orderBy}`)).map(recordOf),
  };
}

type FoundRow<R> = R & { readonly facilityId: string; readonly isActive: boolean };

/**
 * Returns rows by id, also removed ones, whose ids stay with their facility. Only the opening hours of a location can
 * change outside of the lock of `lockPlacesOfService`, so other rows need no lock, and bookings go on meanwhile.
 */
export async function findRows<R extends { readonly id: string }>(
  tx: Transaction,
  { table, columns }: Pick<PlaceTable<R>, 'table' | 'columns'>,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, FoundRow<R>>> {
  const facilityId = table === 'facility' ? 'id' : 'facility_id';
  const statement = `select ${facilityId} as "facilityId", removed_at is null as "isActive", ${columns} from ${table}
where id = any($1)`;
  const rows = await query<FoundRow<R>>(tx, statement, [[...ids]]);
  return new Map(rows.map((row) => [row.id, row]));
}

export interface Upsert<R> {
  readonly context: ChangeContext;
  /** Undefined if the parent does not exist. */
  readonly facilityOf: (record: R) => string | undefined;
  /** Adds the fields that a record leaves out. */
  readonly complete: (record: R, before: R | undefined) => R;
  /** Gets the rows before they are written. */
  readonly lock?: (rows: ReadonlyMap<string, R>) => Promise<void>;
}

/** Writes locations or bays. Also returns the rows as they were. Each statement writes rows of one facility. */
export async function upsertPlaces<R extends { readonly id: string }>(
  tx: Transaction,
  place: PlaceTable<R> & { readonly parent: PlaceKind; readonly write: string },
  records: readonly R[],
  { context, facilityOf, complete, lock }: Upsert<R>,
) {
  const { table, parent, write, recordOf } = place;
  const ids = records.map(({ id }) => id);
  const rows = await findRows<R>(tx, place, ids);
  await lock?.(rows);
  const outcomes = records.map((record) => {
    const row = rows.get(record.id);
    const before = row?.isActive ? recordOf(row) : undefined;
    const facilityId = facilityOf(record);
    const owner = row?.facilityId ?? facilityId;
    const problems: Problem[] = [];
    if (facilityId === undefined) problems.push(problem(`/${parent}Id`, 'invalid', `no ${parent} has this id`));
    else if (owner !== facilityId)
      problems.push(problem(`/${parent}Id`, 'conflict', `${record.id} belongs to facility ${owner}`));
    return outcomeOf(before && new Stored(before), new Stored(recordOf(complete(record, before))), problems);
  });
  const written = outcomes.filter((outcome) => isWritten(outcome, context)).map(({ after }) => after.record);
  for (const [facilityId, group] of Map.groupBy(written, facilityOf))
    send(tx, write, [facilityId, JSON.stringify(group)]);
  storeOutcomes(tx, table, outcomes, (record) => facilityOf(record) as string, context);
  return { outcomes, rows, written };
}

interface NewEvent {
  readonly action: string;
  readonly facilityId: string;
  readonly target: string;
  /** The names of the fields that changed, never their values. */
  readonly changed: readonly string[];
}

// The transaction may have waited for its lock since `now()`.
const insertEvents = `insert into management_event (at, action, client_id, facility_id, target, changed)
select clock_timestamp(), event ->> 'action', $2, event ->> 'facilityId', event ->> 'target',
  array(select jsonb_array_elements_text(event -> 'changed'))
from jsonb_array_elements($1::jsonb) with ordinality as events (event, position) order by position`;

/** The lock of `lockPlacesOfService` ensures that numbers become visible in their order. */
function storeEvents(tx: Transaction, events: readonly NewEvent[], clientId: string): void {
  if (events.length > 0) send(tx, insertEvents, [JSON.stringify(events), clientId]);
}

/** Stores the events of the records that are written. */
export function storeOutcomes<R extends { readonly id: string }>(
  tx: Transaction,
  kind: PlaceKind,
  outcomes: readonly Outcome<R>[],
  facilityIdOf: (record: R) => string,
  context: ChangeContext,
): void {
  const written = outcomes.filter((outcome) => isWritten(outcome, context));
  const events = written.map(({ action, after, changed }) => ({
    action: `${kind}.${action === 'create' ? 'created' : 'updated'}`,
    facilityId: facilityIdOf(after.record),
    target: `${collections[kind]}/${after.record.id}`,
    changed: changed.filter((name) => name !== 'id'),
  }));
  storeEvents(tx, events, context.clientId);
}

export function storeDeletion(
  tx: Transaction,
  kind: PlaceKind,
  facilityId: string,
  id: string,
  clientId: string,
): void {
  const target = `${collections[kind]}/${id}`;
  storeEvents(tx, [{ action: `${kind}.deleted`, facilityId, target, changed: [] }], clientId);
}
