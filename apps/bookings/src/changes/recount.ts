// Adds missing changes to the log, after somebody has changed bookings outside the service.
import { type Database, query, send, transaction } from '@bay-booking/service/database/database';
import { lockFacility } from '../database/locks.ts';
import { beforeTime } from './log.ts';

/** `transaction_timeout` exists since PostgreSQL 17. */
const removeTimeouts = `select set_config(name, '0', true) from pg_settings where name in
('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

const facilitiesStatement = 'select id from facility order by id';

/**
 * Adds a change for each booking of facility $1 that is missing in the log or has another version there. `state` is the
 * SQL expression for the state of a row of `booking`.
 */
const addChanged = (state: string): string => `insert into booking_change
  (facility_id, booking_id, version, at, action, before, after, before_time)
select facility_id, id, booking.version, now(), case when before is null then 'created' else 'updated' end,
  before, ${state}, ${beforeTime}
from booking left join (
  select distinct on (booking_id) booking_id, version, after as before from booking_change
  where facility_id = $1 order by booking_id, version desc
) last on last.booking_id = id
where facility_id = $1 and (last.version is null or last.version < booking.version)`;

/** Adds a deletion for each booking of facility $1 that is only in the log. */
const addDeleted = `insert into booking_change
  (facility_id, booking_id, version, at, action, before, before_time)
select $1, booking_id, version + 1, now(), 'deleted', before, ${beforeTime} from (
  select distinct on (booking_id) booking_id, version, after as before from booking_change
  where facility_id = $1 order by booking_id, version desc
) last where before is not null and not exists (select from booking where facility_id = $1 and id = booking_id)`;

const counted = (insert: string): string =>
  `with added as (${insert} returning 1) select count(*)::int as n from added`;

/**
 * Can run while requests write bookings. Returns the number of changes that were missing. `bookingState` is the SQL
 * expression for the state of a row of `booking`.
 */
export async function recount(db: Database, bookingState: string): Promise<number> {
  let missing = 0;
  for (const { id } of await query<{ id: string }>(db, facilitiesStatement)) {
    missing += await transaction(db, async (tx) => {
      // Reading all bookings of a large facility can take minutes.
      send(tx, removeTimeouts);
      lockFacility(tx, id);
      const added = [
        ...(await query<{ n: number }>(tx, counted(addChanged(bookingState)), [id])),
        ...(await query<{ n: number }>(tx, counted(addDeleted), [id])),
      ];
      return added.reduce((sum, { n }) => sum + n, 0);
    });
  }
  return missing;
}
