// Removes bays with their holds. The rows of bays stay, because past bookings and the log of changes need them.
import type { MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { type Problem, problem } from '@bay-booking/records/record';
import { query, send, type Transaction } from '@bay-booking/service/database/database';
import { lockBays } from '../places/locks.ts';

const openBookings = 'select id from booking where facility_id = $1 and bay_id = any($2) and end_date > now() limit 1';
const removal = 'update bay set removed_at = now(), bookable = false where facility_id = $1 and id = any($2)';
const holds = 'delete from booking_hold where facility_id = $1 and bay_id = any($2)';

/** `filter` selects the bookings of the bays in a search. */
export async function removeBays(
  tx: Transaction,
  facilityId: string,
  bayIds: readonly string[],
  filter: Readonly<Record<string, readonly string[]>>,
  link: MakeLink,
): Promise<Problem | undefined> {
  await lockBays(tx, facilityId, bayIds);
  // A new statement sees the bookings of every transaction that had the lock of a bay before.
  if ((await query(tx, openBookings, [facilityId, bayIds])).length > 0) {
    const bookings = link('GET', `/api/bookings${writeQueryString({ ...filter, isActive: true })}`).href;
    return problem('', 'conflict', '', { code: 'PLACE00001', contextData: { bookings } });
  }
  send(tx, removal, [facilityId, bayIds]);
  send(tx, holds, [facilityId, bayIds]);
  return undefined;
}
