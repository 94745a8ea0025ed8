// Builds the SQL that reads and writes bookings and their external booking ids.
//
// Every statement contains the id of one facility, or finds the rows of booking_reference by their key. The same
// statements therefore run on a distributed database (docs/decisions/0003-facility-id-in-every-key.md).
import type { Booking } from '../booking.ts';
import { assignments, columnList, fields, selectList, updateFields, valuesOf } from './columns.ts';

/**
 * The time that a booking or a hold occupies. If its start equals its end, it occupies this instant. Must equal the
 * expression of the constraint booking_no_overlap, so that searches by time can use the index of the constraint.
 */
export const bookedRange = "tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)";

export const findBooking = `select ${selectList(fields)} from booking where facility_id = any($1) and id = $2::uuid`;

export const lockBooking = `select ${selectList(fields)} from booking where facility_id = $1 and id = $2::uuid
for update`;

export const insertBooking = `insert into booking (${columnList(fields)})
values (${fields.map((_, index) => `$${index + 1}`).join(', ')})`;
export const insertValues = (booking: Booking): unknown[] => valuesOf(fields, booking);

/** The fields that the service sets when it updates a booking. The location is that of the bay. */
const changedFields = [...updateFields, 'locationId', 'lastUpdatedAt', 'version'] as const;
export const updateBooking = `update booking set ${assignments(changedFields, 3)}
where facility_id = $1 and id = $2::uuid`;
export const updateValues = (booking: Booking): unknown[] => [
  booking.facilityId,
  booking.id,
  ...valuesOf(changedFields, booking),
];

export const deleteBooking = 'delete from booking where facility_id = $1 and id = $2::uuid';

/** The table booking_reference ensures that no two bookings have the same external id, even at different facilities. */
export const references = {
  find: 'select external_booking_id as id from booking_reference where external_booking_id = any($1)',
  insert: 'insert into booking_reference (external_booking_id, facility_id, booking_id) values ($1, $2, $3::uuid)',
  move: 'update booking_reference set facility_id = $2 where external_booking_id = $1',
  delete: 'delete from booking_reference where external_booking_id = $1',
} as const;
