// Locks a facility before its members or invitations change, and reads the role of the user who makes the change.
import { type Queryable, query, queryOne } from '@bay-booking/service/database/database';
import type { FacilityRole } from '../facilities/roles.ts';
import { isManaging, type ManagingRole } from './rules.ts';

/**
 * Returns undefined if the user may not manage the facility, or if it is disabled. While the facility is locked, a user
 * cannot make a change with a role that another transaction is revoking, and two owners cannot remove each other.
 */
export async function lockFacilityAs(
  actorId: string,
  facilityId: string,
  tx: Queryable,
): Promise<ManagingRole | undefined> {
  // Does not block transactions that insert rows which reference the facility.
  await query(tx, 'select 1 as locked from facility where id = $1 for no key update', [facilityId]);
  const row = await queryOne<{ role: FacilityRole }>(
    tx,
    `select m.role from membership m join account a on a.id = m.account_id and a.disabled_at is null
       join facility f on f.id = m.facility_id and f.disabled_at is null
      where m.facility_id = $1 and m.account_id = $2`,
    [facilityId, actorId],
  );
  return row && isManaging(row.role) ? row.role : undefined;
}
