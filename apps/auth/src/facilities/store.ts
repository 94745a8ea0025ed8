// Reads facilities, and the roles that accounts have at facilities (tables `facility` and `membership`).
import { type Database, query } from '@bay-booking/service/database/database';

export type FacilityRole = 'owner' | 'staff' | 'bookings-manager';

export interface Membership {
  readonly facilityId: string;
  readonly facilityName: string;
  readonly role: FacilityRole;
}

export type FacilityStore = ReturnType<typeof createFacilityStore>;

export function createFacilityStore({ db }: { db: Database }) {
  return {
    /** Returns the ids of the facilities whose bookings the account may manage. Every role allows this. */
    async facilityIdsOf(accountId: string): Promise<readonly string[]> {
      const rows = await query<{ facility_id: string }>(
        db,
        'select facility_id from membership where account_id = $1 order by facility_id',
        [accountId],
      );
      return rows.map((row) => row.facility_id);
    },

    /** Returns at most 1000 memberships, which the page “Your account” shows. */
    membershipsOf: (accountId: string): Promise<readonly Membership[]> =>
      query<Membership>(
        db,
        `select m.facility_id as "facilityId", f.name as "facilityName", m.role
           from membership m join facility f on f.id = m.facility_id
          where m.account_id = $1 order by f.name, f.id limit 1000`,
        [accountId],
      ),
  };
}
