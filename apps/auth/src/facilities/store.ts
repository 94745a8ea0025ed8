// Which facilities are there, and who is what at them? The SQL of facility and membership.
import { type Database, query } from '@bay-booking/service/database';

export const facilityRoles = ['owner', 'staff', 'bookings-manager'] as const;
export type FacilityRole = (typeof facilityRoles)[number];

export interface Membership {
  readonly facilityId: string;
  readonly facilityName: string;
  readonly role: FacilityRole;
}

export type FacilityStore = ReturnType<typeof createFacilityStore>;

export function createFacilityStore({ db }: { db: Database }) {
  return {
    /** The ids that the claim `facilities` of a bookings token may hold: every role manages bookings. */
    async idsManagedBy(accountId: string): Promise<readonly string[]> {
      const rows = await query<{ facility_id: string }>(
        db,
        'select facility_id from membership where account_id = $1 order by facility_id',
        [accountId],
      );
      return rows.map((row) => row.facility_id);
    },

    async membershipsOf(accountId: string): Promise<readonly Membership[]> {
      const { rows } = await db.raw<{ rows: Membership[] }>(
        `select m.facility_id as "facilityId", f.name as "facilityName", m.role
           from membership m join facility f on f.id = m.facility_id
          where m.account_id = ? order by f.name, f.id limit 1000`,
        [accountId],
      );
      return rows;
    },

    async roleOf(accountId: string, facilityId: string): Promise<FacilityRole | undefined> {
      const { rows } = await db.raw<{ rows: { role: FacilityRole }[] }>(
        'select role from membership where account_id = ? and facility_id = ?',
        [accountId, facilityId],
      );
      return rows[0]?.role;
    },
  };
}
