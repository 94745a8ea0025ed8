// Finds and erases personal data of bookings, in their rows and in the log of changes.
import { type Database, type Queryable, query, send, type Transaction } from '@bay-booking/service/database/database';
import { type Booking, erasedFields, selectBookings, updateRows, updateValues } from '../bookings/storage/columns.ts';
import type { BookingState } from '../changes/log.ts';

/** Returns a function that finds the ids of bookings or facilities. Its arguments are the values of the statement. */
const idFinder =
  <Values extends readonly unknown[]>(statement: string) =>
  async (on: Queryable, facilities: readonly string[], ...values: Values): Promise<readonly string[]> =>
    (await query<{ id: string }>(on, statement, [facilities, ...values])).map(({ id }) => id);

const bookingStatements = {
  /**
   * The condition for the alias is that of the partial index booking_personal. If there were no order, PostgreSQL would
   * read the whole table instead: it expects many matches among ended bookings, but nearly all of them are erased.
   */
  findEnded: `select facility_id as "facilityId", id from booking
where user_alias <> 'erased' and end_date < $1 order by end_date limit $2`,
  lock: `${selectBookings} where facility_id = $1 and id = any($2::uuid[]) order by id for update`,
  update: updateRows('$2'),
};

/** Returns bookings that ended before `endedBefore` and whose alias is not erased. */
export const findEnded = (db: Database, endedBefore: Date, limit: number) =>
  query<{ readonly facilityId: string; readonly id: string }>(db, bookingStatements.findEnded, [
    endedBefore.toISOString(),
    limit,
  ]);

export const lockBookings = (tx: Transaction, facilityId: string, ids: readonly string[]) =>
  query<Booking>(tx, bookingStatements.lock, [facilityId, ids]);

export function storeErased(tx: Transaction, booking: Booking): void {
  send(tx, bookingStatements.update, [booking.facilityId, ...updateValues([booking])]);
}

/** The latest change of a booking at a facility. */
export interface LatestChange {
  readonly facilityId: string;
  readonly bookingId: string;
  readonly version: number;
  readonly at: string;
  readonly isDeleted: boolean;
  /** Whether the change is a deletion because the booking moved to another facility. */
  readonly isMoved: boolean;
  /** The booking after the change, or before its deletion. Null if it is unknown. */
  readonly state: BookingState | null;
}

const changeStatements = {
  findFacilities: `select distinct facility_id as "facilityId", other_facility_id as "otherFacilityId"
from booking_change where facility_id = any($1) and booking_id = any($2::uuid[])`,
  findLatest: `select distinct on (booking_id) facility_id as "facilityId", booking_id as "bookingId", version, at,
  after is null as "isDeleted", after is null and other_facility_id is not null as "isMoved",
  coalesce(after, before) as state
from booking_change where facility_id = $1 and booking_id = any($2::uuid[]) order by booking_id, version desc`,
  /** A booking that moved to another facility is not deleted. The conditions are those of a partial index. */
  findEndedDeletions: `select facility_id as "facilityId", booking_id as id from booking_change
where after is null and other_facility_id is null and before ->> 'userAlias' <> 'erased' and before ->> 'endDate' < $1
  and at >= $3::timestamptz
limit $2`,
};

/** Returns the facilities where these bookings are or were, among them those of `facilities` that have a change. */
export async function findFacilities(on: Queryable, facilities: readonly string[], ids: readonly string[]) {
  const found = new Set<string>();
  let unread = facilities;
  while (unread.length > 0) {
    const rows = await query<{ facilityId: string; otherFacilityId: string | null }>(
      on,
      changeStatements.findFacilities,
      [unread, ids],
    );
    for (const { facilityId } of rows) found.add(facilityId);
    const others = rows.map(({ otherFacilityId }) => otherFacilityId).filter((id) => id !== null);
    unread = [...new Set(others)].filter((id) => !found.has(id) && !unread.includes(id));
  }
  return [...found].toSorted();
}

type ByAlias = [userAlias: string, limit: number];
type ByBookings = [bookingIds: readonly string[]];

/** Finds bookings with this alias, at most `limit`. */
export const findByAlias = idFinder<ByAlias>(
  'select id from booking where facility_id = any($1) and user_alias = $2 limit $3',
);

/** Finds those of the facilities that have a change of one of the bookings. */
export const findKnownFacilities = idFinder<ByBookings>(`select distinct facility_id as id from booking_change
where facility_id = any($1) and booking_id = any($2::uuid[]) order by id`);

/** Finds those of the bookings that have a change at one of the facilities. */
export const findKnownIds = idFinder<ByBookings>(`select distinct booking_id as id from booking_change
where facility_id = any($1) and booking_id = any($2::uuid[])`);

/** Finds bookings that had the alias before one of their changes, at most `limit`. */
export const findByFormerAlias = idFinder<ByAlias>(`select distinct booking_id as id from booking_change
where facility_id = any($1) and before is not null and before ->> 'userAlias' = $2 limit $3`);

export const findLatestChanges = (tx: Transaction, facilityId: string, ids: readonly string[]) =>
  query<LatestChange>(tx, changeStatements.findLatest, [facilityId, ids]);

/** The SQL expression for an erased state. A state from before a field was added to bookings stays without it. */
const erased = (state: string): string =>
  Object.entries(erasedFields).reduce(
    (sql, [field, value]) => `jsonb_set(${sql}, '{${field}}', '${JSON.stringify(value)}', false)`,
    state,
  );
const isPersonal = `(before <> ${erased('before')} or after <> ${erased('after')})`;
const erase = `update booking_change set before = ${erased('before')}, after = ${erased('after')}
where facility_id = $1 and booking_id = any($2::uuid[]) and ${isPersonal}`;

/** Finds those of the bookings that have personal data in a change at one of the facilities. */
export const findPersonal = idFinder<ByBookings>(`select distinct booking_id as id from booking_change
where facility_id = any($1) and booking_id = any($2::uuid[]) and ${isPersonal}`);

export const eraseChanges = (tx: Transaction, facilityId: string, ids: readonly string[]): void =>
  send(tx, erase, [facilityId, ids]);

/**
 * Returns deleted bookings that ended before `endedBefore` and whose alias is not erased. The history of a deletion
 * before `keptSince` has expired.
 */
export const findEndedDeletions = (db: Database, endedBefore: Date, keptSince: Date, limit: number) =>
  query<{ readonly facilityId: string; readonly id: string }>(db, changeStatements.findEndedDeletions, [
    endedBefore.toISOString(),
    limit,
    keptSince.toISOString(),
  ]);
