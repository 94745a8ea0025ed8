// Adds the changes of bookings to the bins (see bins.ts).
import { type Database, query, send, transaction } from '@bay-booking/service/database/database';
import { numberChanges } from '../numbers.ts';
import { binStatements } from './bins.ts';

/** The maximum number of facilities that one run compacts. The next run continues. */
const maxFacilities = 1_000;

const facilitiesStatement = `select facility_id as id from booking_change where number is null
union select id from facility where change_number > counted_number limit $1`;
/** Returns no row if another transaction compacts, numbers or recounts the facility. */
const tryLockStatement = 'select id from facility where id = $1 for no key update skip locked';

/** Numbers and counts the changes of up to 1000 facilities. */
export async function compactChanges(db: Database): Promise<void> {
  for (const { id } of await query<{ id: string }>(db, facilitiesStatement, [maxFacilities])) {
    await transaction(db, async (tx) => {
      const [locked] = await query(tx, tryLockStatement, [id]);
      if (!locked) return;
      // Changes that are committed after this statement have no number, so they are not counted.
      numberChanges(tx, id);
      send(tx, binStatements.addNumbered, [id]);
      send(tx, binStatements.setCounted, [id]);
    });
  }
}
