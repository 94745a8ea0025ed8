// Builds the SQL that reads, locks and writes bookings and their external booking ids.
//
// Every statement contains the id of a facility, or uses only the table booking_reference and finds the rows by their
// key. The same statements therefore run on a single PostgreSQL and on a distributed database
// (docs/decisions/0003-facility-id-in-every-key.md). A test checks this rule.

import {
  appendChange,
  countDeleted,
  countInserted,
  countUpdated,
  hourOf,
} from '../../changes/totals/log-statements.ts';
import type { AllowedEtags, Booking, BookingChange } from '../booking.ts';
import {
  assignments,
  columnList,
  fields,
  jsonObject,
  parameters,
  selectList,
  updateFields,
  valuesOf,
} from './columns.ts';

/**
 * The time that a booking or a hold occupies. If its start equals its end, it occupies this instant. Must equal the
 * expression of the constraint booking_no_overlap, so that searches by time can use the index of the constraint.
 */
export const bookedRange = "tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)";

// Citus allows only immutable functions in updates. `extract` is not immutable for times with a time zone, so the time
// is first converted to UTC.
const milliseconds = "(extract(epoch from booking.last_updated_at at time zone 'UTC') * 1000)::bigint";
const etag = `(booking.version::text || '-' || ${milliseconds}::text)`;

export type BookingKey = Pick<Booking, 'facilityId' | 'id'>;

const requestedRange =
  "tstzrange($3::timestamptz, $4::timestamptz, case when $3::timestamptz = $4::timestamptz then '[]' else '[)' end)";

export const bookingReads = {
  find: `select ${selectList(fields)} from booking where facility_id = any($1) and id = $2::uuid`,

  bayOf: 'select bay_id as "bayId" from booking where facility_id = $1 and id = $2::uuid',

  /**
   * Returns whether bay $2 is bookable, and whether a booking or a hold occupies the bay from $3 to $4. Booking $5 and
   * hold $6 do not count. If $3 is null, only `bookable` is checked. Returns no row if the bay does not exist.
   */
  conflicts: `select bookable, $3::timestamptz is not null and exists (
  select from booking where facility_id = $1 and bay_id = $2 and id is distinct from $5::uuid
    and ${bookedRange} && ${requestedRange}
) as "isOverlapping", (
  select max(expires_at) from booking_hold where facility_id = $1 and bay_id = $2 and id is distinct from $6::uuid
    and expires_at > now() and $3::timestamptz is not null and ${bookedRange} && ${requestedRange}
) as "heldUntil" from bay where facility_id = $1 and id = $2`,
} as const;

/** A value of `BayCheck.checkedHeldUntil`. It is later than every `bay.held_until`, so no hold counts as new. */
export const allHoldsChecked = 'infinity';

/** The results of the checks that a request made before its statement locks the bay. */
export interface BayCheck {
  /**
   * The version of the rules that permit the interval (availability/rules-store.ts), or `noRulesVersion` if the rules
   * do not permit it (validation.ts).
   */
  readonly rulesVersion: number;
  /**
   * Shows which holds the request has looked up. Every new hold increases `bay.held_until`.
   * - a timestamp: the value of `bay.held_until` when the request found that no hold prevents the booking
   * - `allHoldsChecked`: the transaction has locked the bay, so no hold was added after the look-up
   * - null: the request has looked up no holds, so every live hold of the bay prevents the booking
   */
  readonly checkedHeldUntil: string | null;
}

/**
 * Builds the condition that the bay has no live hold, apart from the holds that the request has already looked up. If
 * `checkedHeldUntil` is null, `greatest` ignores it and returns now().
 *
 * The condition reads only the row of the bay. After PostgreSQL has waited for the lock of a bay, it evaluates
 * conditions on the newest row of the bay, but reads other tables as they were before it waited. A new closure or hold
 * therefore also increases `rules_version` or `held_until` of the bay.
 */
const hasNoNewHold = (checkedHeldUntil: string): string =>
  `(held_until is null or held_until <= greatest(now(), ${checkedHeldUntil}::timestamptz))`;

/** The parameter of each field, such as `$3::text`. The first field has the parameter $1. */
const insertParameter = parameters(fields, 1);
export const insertValues = (booking: Booking, { rulesVersion, checkedHeldUntil }: BayCheck): unknown[] => [
  ...valuesOf(fields, booking),
  rulesVersion,
  checkedHeldUntil,
];

/** The facility and the bay come from the locked row of the bay. Citus needs this to run the insert on one node. */
const insertSource = { ...insertParameter, facilityId: 'bookable_bay.facility_id', bayId: 'bookable_bay.id' };

/**
 * Inserts the booking if its bay is bookable, free and not held, and if the rules of the bay have not changed since the
 * request was checked. The statement locks the bay, so that concurrent requests for the same bay run one at a time.
 */
const insertBooking = `insert into booking (${columnList(fields)}, location_id)
  select ${fields.map((field) => insertSource[field]).join(', ')}, bookable_bay.location_id
  from (
    select facility_id, location_id, id from bay
    where facility_id = ${insertParameter.facilityId} and id = ${insertParameter.bayId} and bookable
      and rules_version = $${fields.length + 1}::integer and ${hasNoNewHold(`$${fields.length + 2}`)}
    for no key update
  ) bookable_bay
  on conflict on constraint booking_no_overlap do nothing
  returning facility_id, id, version, location_id, start_date`;

/** The parameters of the updated fields begin with $7. `updateValues` lists the parameters $1 to $6. */
const updateParameter = parameters(updateFields, 7);

export interface BookingUpdate {
  readonly key: BookingKey;
  readonly change: BookingChange;
  readonly etags: AllowedEtags;
  /** The time of the request, which becomes `lastUpdatedAt`. */
  readonly at: Date;
  readonly check: BayCheck;
}

export const updateValues = ({ key, change, etags, at, check }: BookingUpdate): unknown[] => [
  key.facilityId,
  key.id,
  at.toISOString(),
  etags ?? null,
  check.rulesVersion,
  check.checkedHeldUntil,
  ...valuesOf(updateFields, change),
];

const keepsBayAndTimes =
  `booking.bay_id = ${updateParameter.bayId} and booking.start_date = ${updateParameter.startDate}` +
  ` and booking.end_date = ${updateParameter.endDate}`;

/**
 * Locks the old and the new bay, then locks the booking and updates it. The condition that counts the rows of `locked`
 * makes PostgreSQL lock the bays first. The bays are locked in the order of their ids, which prevents deadlocks between
 * concurrent updates. The rules are not checked for a booking that keeps its bay and times.
 *
 * The time of the last update never decreases, even if the clocks of two instances differ.
 */
const updateBooking = `locked as materialized (
  select facility_id, id, location_id, bookable, rules_version, held_until from bay where facility_id = $1
    and id in (${updateParameter.bayId}, (select bay_id from booking where facility_id = $1 and id = $2::uuid))
  order by id for no key update
), old as materialized (
  select id, location_id, ${hourOf('start_date')} as hour from booking
  where facility_id = $1 and id = $2::uuid and (select count(*) from locked) > 0 for no key update
), updated as (
  update booking set ${assignments(updateFields, updateParameter)}, location_id = locked.location_id,
    last_updated_at = greatest(booking.last_updated_at, $3::timestamptz), version = booking.version + 1
  from locked, old
  where booking.facility_id = $1 and booking.id = $2::uuid and old.id = booking.id
    and locked.id = ${updateParameter.bayId} and locked.bookable and ${hasNoNewHold('$6')}
    and (locked.rules_version = $5::integer or (${keepsBayAndTimes})) and ($4::text[] is null or ${etag} = any($4))
  returning ${columnList(fields, 'booking.')}, booking.location_id, ${hourOf('booking.start_date')} as hour
)`;

export const deleteValues = (key: BookingKey, etags: AllowedEtags): unknown[] => [
  key.facilityId,
  key.id,
  etags ?? null,
];

const deleteBooking = `delete from booking
  where facility_id = $1 and id = $2::uuid and ($3::text[] is null or ${etag} = any($3))`;

/** Inserts the booking and counts it. `furtherCte` is another CTE of the statement, with a comma before it. */
const insertAndCount = (furtherCte = ''): string => `with inserted as (
  ${insertBooking}
)${furtherCte}
${countInserted('inserted')}
returning booking_id as id`;

/** Each statement writes a booking and its counts. */
export const singleStatementWrites = {
  insert: insertAndCount(),

  /** Also deletes the hold that the booking uses. The id of the hold is the last parameter. */
  insertWithHold: insertAndCount(`, used as (
  delete from booking_hold where facility_id = ${insertParameter.facilityId} and id = $${fields.length + 3}::uuid
    and exists (select 1 from inserted)
)`),

  update: `with ${updateBooking}, counted as (
  ${countUpdated('old', 'updated')}
)
select ${selectList(fields, 'updated')} from updated`,

  delete: `with deleted as (
  ${deleteBooking}
  returning ${columnList(fields)}, location_id, ${hourOf('start_date')} as hour
), counted as (
  ${countDeleted('deleted', jsonObject(fields, 'deleted'))}
)
select ${selectList(fields, 'deleted')} from deleted`,
} as const;

/** Separate statements for a booking and for its counts, for a distributed database (see distributed-writer.ts). */
export const separateWrites = {
  insert: insertBooking,
  countInserted: `${countInserted('booking')} where facility_id = $1 and id = $2::uuid and version = $3`,

  update: `with ${updateBooking}
select ${selectList(fields, 'updated')}, updated.location_id as "locationId", updated.hour,
  old.location_id as "oldLocationId", old.hour as "oldHour"
from updated cross join old`,

  deleteHold: 'delete from booking_hold where facility_id = $1 and id = $2::uuid',

  delete: `${deleteBooking}
  returning ${selectList(fields)}, location_id as "locationId", ${hourOf('start_date')} as hour`,

  appendChange,
} as const;

export const bayStatements = {
  lock: `select id, bookable, rules_version as version from bay where facility_id = $1 and id = any($2)
order by id for no key update`,

  /**
   * Reads the live holds of bay $2 that overlap the interval from $3 to $4. The transaction must already have locked
   * the bay, so that no other transaction can add a hold until this transaction ends.
   *
   * The expiry is compared with `clock_timestamp()`, because `now()` is the time at which the transaction began. With
   * `now()`, holds that expired while the transaction waited for the lock would still count.
   */
  liveHolds: `select id from booking_hold where facility_id = $1 and bay_id = $2 and expires_at > clock_timestamp()
  and ${bookedRange} && ${requestedRange}`,
} as const;

/** The table booking_reference ensures that no two bookings have the same external id, even at different facilities. */
export const referenceStatements = {
  find: 'select booking_id from booking_reference where external_booking_id = $1',

  insert: `insert into booking_reference (external_booking_id, facility_id, booking_id) values ($1, $2, $3::uuid)
on conflict (external_booking_id) do nothing returning booking_id`,

  move: `update booking_reference set facility_id = $3
where external_booking_id = $1 and booking_id = $2::uuid returning booking_id`,

  delete: `delete from booking_reference
where external_booking_id = $1 and booking_id = $2::uuid returning booking_id`,
} as const;
