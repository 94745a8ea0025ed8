// Reads and writes the opening hours of locations.
import { type Database, query } from '@bay-booking/service/database/database';
import { lockRules } from '../availability/rule-statements.ts';
import { inTransaction, retryOnce } from '../database/in-transaction.ts';
import type { OpeningHours } from './hours.ts';

export interface HoursRow {
  readonly facilityId: string;
  readonly locationId: string;
  readonly timeZone: string;
  /** Null if the location is always open. */
  readonly hours: OpeningHours | null;
}

export const hoursStatements = {
  find: `select location.facility_id as "facilityId", location.id as "locationId", facility.time_zone as "timeZone",
  location.opening_hours as hours
from location join facility on facility.id = location.facility_id
where location.facility_id = any($1) and location.id = $2`,

  set: 'update location set opening_hours = $3::jsonb where facility_id = $1 and id = $2',
} as const;

export type OpeningHoursStore = ReturnType<typeof createOpeningHoursStore>;

export function createOpeningHoursStore(db: Database) {
  return {
    find: async (facilityIds: readonly string[], locationId: string): Promise<HoursRow | undefined> =>
      (await query<HoursRow>(db, hoursStatements.find, [facilityIds, locationId]))[0],

    /**
     * Sets the opening hours of a location, unless `check` throws an error. `check` gets the current opening hours.
     * `retryOnce` repeats the transaction if PostgreSQL has rolled it back because of a deadlock or a serialization
     * failure.
     */
    set: ({ facilityId, locationId }: HoursRow, hours: OpeningHours | null, check: (current: HoursRow) => void) =>
      retryOnce(db, () =>
        inTransaction(db, async (run) => {
          const results = await run(...lockRules({ facilityId, locationIds: [locationId], bayIds: [] }), [
            hoursStatements.find,
            [[facilityId], locationId],
          ]);
          // The last statement of this call is `find`. The statements before it take locks. Locations are never
          // deleted, so `find` returns a row.
          const [current] = results.at(-1) as HoursRow[];
          check(current as HoursRow);
          await run([hoursStatements.set, [facilityId, locationId, hours && JSON.stringify(hours)]]);
        }),
      ),
  };
}
