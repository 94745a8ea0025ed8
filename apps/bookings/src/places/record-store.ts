// Reads, compares, writes and removes facilities, locations and bays for their records, with the events of changes.
import { writeQueryString } from '@bay-booking/common/query-string';
import { textSchema } from '@bay-booking/common/text';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import type { EventSource } from '@bay-booking/records/events';
import { createReads, outcomeOf, type RecordOutcome } from '@bay-booking/records/record';
import { type Queryable, query, send, type Transaction } from '@bay-booking/service/database/database';
import { lockPlaces } from '../database/locks.ts';

/**
 * Allows one transaction at a time that changes records. It can then check that ids of locations and bays are unique
 * over the whole service. The primary keys cannot ensure this uniqueness, because they start with facility_id.
 */
export const lockPlacesOfService = (tx: Transaction): Promise<unknown> =>
  query(tx, 'select id from import_lock where id = 1 for update');

type PlaceName = 'facility' | 'location' | 'bay';
const collections = { facility: 'facilities', location: 'locations', bay: 'bays' } as const;

/** The table of one kind of record. */
export interface PlaceTable<R> {
  readonly table: PlaceName;
  /** The columns of the record. */
  readonly columns: string;
  /** Default: the row itself. */
  readonly recordOf?: (row: R) => R;
  /** The conditions of the list, by filter (packages/service/src/page-statements.ts). */
  readonly conditions: Readonly<Record<string, string>>;
  /** Writes the records $2 of the facility $1. */
  readonly write: string;
}

/** The reading functions of a kind. */
export function placeReads<R extends { readonly id: string }>(place: PlaceTable<R>) {
  const { table, columns, recordOf = (row) => row, conditions } = place;
  const from = `from ${table} where removed_at is null`;
  const rows = { columns, from, orderBy: 'id collate "C"', conditions, byKey: 'id = $1' };
  return createReads(rows, (row: R) => ({ record: recordOf(row) }));
}

interface FoundRow<R> {
  readonly facilityId: string;
  readonly isActive: boolean;
  readonly record: R;
}

/**
 * Returns records by id, also removed ones, whose ids stay with their facility. Only the opening hours of a location
 * can change outside of the lock of `lockPlacesOfService`, so other rows need no lock, and bookings go on meanwhile.
 */
export async function findRows<R extends { readonly id: string }>(
  on: Queryable,
  { table, columns, recordOf = (row) => row }: Pick<PlaceTable<R>, 'table' | 'columns' | 'recordOf'>,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, FoundRow<R>>> {
  const facility = table === 'facility' ? 'id' : 'facility_id';
  const statement = `select ${facility} as "ownerId", removed_at is null as "isActive", ${columns} from ${table}
where id = any($1)`;
  const rows = await query<R & { ownerId: string; isActive: boolean }>(on, statement, [[...ids]]);
  return new Map(
    rows.map(({ ownerId: facilityId, isActive, ...row }) => [
      row.id,
      { facilityId, isActive, record: recordOf(row as never) },
    ]),
  );
}

/** `stored` is the stored record, even if it was removed. */
export type PlaceOutcome<R> = RecordOutcome<R> & { readonly facilityId: string; readonly stored?: R | undefined };

/** Compares locations or bays with the stored ones. `complete` adds the fields that a record leaves out. */
export async function compareInside<R extends { readonly id: string }>(
  tx: Transaction,
  place: PlaceTable<R> & { readonly parent: PlaceName },
  records: readonly R[],
  complete: (record: R, before: R | undefined) => R,
): Promise<readonly PlaceOutcome<R>[]> {
  const { parent } = place;
  const parentOf = (record: R): string => String(record[`${parent}Id` as keyof R]);
  const parents = await findRows<{ id: string }>(tx, { table: parent, columns: 'id' }, new Set(records.map(parentOf)));
  const ids = records.map(({ id }) => id);
  const rows = await findRows<R>(tx, place, ids);
  return records.map((record) => {
    const row = rows.get(record.id);
    const before = row?.isActive ? row.record : undefined;
    const inside = parents.get(parentOf(record));
    const facilityId = inside?.isActive ? inside.facilityId : undefined;
    const owner = row?.facilityId ?? facilityId;
    const problems: PointerError[] = [];
    if (facilityId === undefined) problems.push(atPointer(`/${parent}Id`, 'invalid', `no ${parent} has this id`));
    else if (owner !== facilityId)
      problems.push(atPointer(`/${parent}Id`, 'conflict', `${record.id} belongs to facility ${owner}`));
    const outcome = outcomeOf(before && { record: before }, complete(record, before), problems);
    return { ...outcome, facilityId: facilityId ?? '', stored: row?.record };
  });
}

/** The events of operators, as their list has them. */
export const placeEvents: EventSource = {
  rows: `select number, at, action, client_id as "clientId", subject,
    facility_id as "facilityId", target, changed from management_event`,
  filters: { account: { ...textSchema, description: 'The account of the person who made the change.' } },
  conditions: { account: 'subject = {account}' },
};

// The transaction may have waited for its lock since `now()`.
const insertEvents = `insert into management_event (at, action, client_id, subject, facility_id, target, changed)
select clock_timestamp(), event ->> 'action', $2, $3, event ->> 'facilityId', event ->> 'target',
  array(select jsonb_array_elements_text(event -> 'changed'))
from jsonb_array_elements($1::jsonb) with ordinality as events (event, position) order by position`;

/**
 * Writes records, with their events. Each statement writes rows of one facility. The lock of `lockPlacesOfService`
 * ensures that the numbers of events become visible in their order.
 */
export function writePlaces<R extends { readonly id: string }>(
  tx: Transaction,
  { table, write }: PlaceTable<R>,
  outcomes: readonly PlaceOutcome<R>[],
  actor: Actor,
): void {
  const events = outcomes.map(({ action, after, changed, facilityId }) => ({
    action: action === 'create' ? 'created' : 'updated',
    facilityId,
    id: after.id,
    // Never the values.
    changed: changed.filter((name) => name !== 'id'),
  }));
  storePlaceEvents(tx, table, events, actor);
  for (const [facilityId, group] of Map.groupBy(outcomes, (outcome) => outcome.facilityId))
    send(tx, write, [facilityId, JSON.stringify(group.map(({ after }) => after))]);
}

interface Actor {
  readonly clientId: string;
  readonly subject?: string | null;
}

export function storePlaceEvents(
  tx: Transaction,
  table: PlaceName,
  events: readonly { action: string; facilityId: string; id: string; changed: readonly string[] }[],
  { clientId, subject = null }: Actor,
): void {
  const rows = events.map(({ action, facilityId, id, changed }) => ({
    action: `${table}.${action}`,
    facilityId,
    target: `${collections[table]}/${id}`,
    changed,
  }));
  send(tx, insertEvents, [JSON.stringify(rows), clientId, subject]);
}

const openBookings = 'select id from booking where facility_id = $1 and bay_id = any($2) and end_date > now() limit 1';
const baysOfPlaces = `select id from bay
where facility_id = $1 and removed_at is null and (location_id = any($2) or id = any($3))`;
const removals = {
  location: 'update location set removed_at = now() where facility_id = $1 and id = any($2)',
  bay: 'update bay set removed_at = now(), bookable = false where facility_id = $1 and id = any($2)',
  holds: 'delete from booking_hold where facility_id = $1 and bay_id = any($2)',
} as const;

/** How locations and bays are read, locked and removed. */
export const insideReads = <R extends { readonly id: string }>(
  place: PlaceTable<R>,
  hrefOf: (path: string) => string,
) => ({
  ...placeReads(place),

  /** Only the lock of the row ensures that the opening hours do not change. */
  lock: async (tx: Transaction, id: string): Promise<void> => {
    const row = (await findRows(tx, place, [id])).get(id);
    if (row) await lockPlaces(tx, { facilityId: row.facilityId, ...idsOf(place, id) });
  },

  /** Also removes the holds of the bays. The rows stay, because past bookings and the log of changes need them. */
  remove: async (tx: Transaction, { id }: R, actor: Actor): Promise<PointerError | undefined> => {
    const { table } = place;
    // The caller has locked and found the place.
    const { facilityId } = (await findRows(tx, place, [id])).get(id) as { readonly facilityId: string };
    const { locationIds, bayIds: ids } = idsOf(place, id);
    const bays = await query<{ id: string }>(tx, baysOfPlaces, [facilityId, locationIds, ids]);
    const bayIds = bays.map((bay) => bay.id);
    // A new statement sees the bookings of every transaction that had the lock of a bay before.
    if ((await query(tx, openBookings, [facilityId, bayIds])).length > 0) {
      const filter = table === 'location' ? { locationIds } : { bayIds };
      const bookings = hrefOf(`/api/bookings${writeQueryString({ ...filter, isActive: true })}`);
      return atPointer('', 'conflict', '', { code: 'PLACE00001', contextData: { bookings } });
    }
    send(tx, removals.location, [facilityId, locationIds]);
    send(tx, removals.bay, [facilityId, bayIds]);
    send(tx, removals.holds, [facilityId, bayIds]);
    storePlaceEvents(tx, table, [{ action: 'deleted', facilityId, id, changed: [] }], actor);
    return undefined;
  },
});

const idsOf = ({ table }: { readonly table: PlaceName }, id: string) =>
  table === 'location' ? { locationIds: [id], bayIds: [] } : { locationIds: [], bayIds: [id] };
