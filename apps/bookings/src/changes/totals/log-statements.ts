// Builds the SQL that appends rows to the log booking_change. The statements that write bookings include this SQL. The
// counts (see reader.ts) and the change feed (see ../feed/store.ts) are derived from the log.
//
// In a row, `n` is the change of the number of bookings that start at a location in an hour: 1, 0 or -1.

const columns = '(facility_id, booking_id, version, n, location_id, hour)';
const deletionColumns = '(facility_id, booking_id, version, n, location_id, hour, last_state)';

/** The hour in which a booking starts, as the log and the counts store it. */
export const hourOf = (column: string): string => `date_bin('1 hour', ${column}, timestamptz '1970-01-01 00:00Z')`;

/** Appends the insertion of bookings to the log. `source` is a table or CTE with their rows. */
export const countInserted = (source: string): string => `insert into booking_change ${columns}
select facility_id, id, version, 1, location_id, ${hourOf('start_date')} from ${source}`;

/**
 * Appends the deletion of bookings to the log. `deleted` is a CTE with their rows, which include `location_id` and
 * `hour`. `lastState` is an SQL expression that converts a row of `deleted` to JSON. A deletion counts as one more
 * version of the booking.
 */
export const countDeleted = (
  deleted: string,
  lastState: string,
): string => `insert into booking_change ${deletionColumns}
  select facility_id, id, version + 1, -1, location_id, hour, ${lastState} from ${deleted}`;

/**
 * Appends the update of a booking to the log. If its location and the hour of its start are unchanged, the log gets a
 * single row with `n` = 0. Otherwise the log gets a row with `n` = -1 for the old location and hour, and a row with `n`
 * = 1 for the new ones. `old` and `updated` are CTEs with one row each.
 */
export const countUpdated = (old: string, updated: string): string => `insert into booking_change ${columns}
  select ${updated}.facility_id, ${updated}.id, ${updated}.version, change.n,
    case when change.n < 0 then ${old}.location_id else ${updated}.location_id end,
    case when change.n < 0 then ${old}.hour else ${updated}.hour end
  from ${updated} cross join ${old} cross join (values (-1), (0), (1)) change (n)
  where (change.n = 0) = (${old}.location_id = ${updated}.location_id and ${old}.hour = ${updated}.hour)`;

/** Appends one row, whose values are parameters. `last_state` is null if the booking was not deleted. */
export const appendChange = `insert into booking_change ${deletionColumns}
values ($1, $2::uuid, $3, $4, $5, $6::timestamptz, $7::jsonb)`;
