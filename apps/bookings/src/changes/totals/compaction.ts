// Maintains the counts of bookings (table booking_count) and the change feed (table booking_feed).
//
// A request that writes bookings only appends rows to a log, the table booking_change. Compaction deletes these rows,
// adds them to the counts, and gives the changes their numbers in the feed (see ../feed/store.ts). Each row of
// booking_count contains the number of bookings that start in one bin, which is a period (see reader.ts). A recount
// corrects the counts of the bins and the feed.
//
// Compaction and recount lock the row of the facility, so that only one of them changes the bins and the feed of a
// facility at a time. Requests that write bookings do not lock this row, so they do not wait.
import { type Database, query, transaction } from '@bay-booking/service/database/database';
import { inTransaction } from '../../database/in-transaction.ts';
import { feedWrites, numberChanges } from '../feed/statements.ts';
import { hourOf } from './log-statements.ts';
import { binOf } from './statements.ts';

/**
 * The kinds of bins. A bin is a period of `span` hours (768 hours are 32 days), in which the bookings of a facility or
 * of a location are counted. Each booking is counted in one bin of each kind.
 */
const binKinds =
  '(values (false, 1), (false, 24), (false, 768), (true, 24), (true, 768)) bin_kind (is_of_location, span)';
/** The bins of a facility have an empty `location_id`. */
const locationOfBin = "case when is_of_location then location_id else '' end";
const addToBin = `on conflict (facility_id, location_id, span, begins) do update
set n = booking_count.n + excluded.n`;

export const compactionReads = {
  /** The facilities with the most rows in the log `booking_change` come first. */
  facilitiesWithLog: `select facility_id as id from booking_change
group by facility_id order by count(*) desc, facility_id limit $1`,

  facilities: 'select id from facility order by id',
} as const;

export const compactionWrites = {
  /**
   * Compacts the log of facility $1: deletes its rows from booking_change, adds them to the counts in booking_count,
   * and numbers the changes.
   *
   * An earlier statement of the transaction must lock the facility. The snapshot of `compact` is then taken while the
   * lock is held, so it includes the change numbers that the previous owner of the lock has assigned.
   *
   * `numberChanges` is a list of further subqueries (CTEs), which read `removed` and write the feed.
   */
  compact: `with removed as (
  delete from booking_change where facility_id = $1 returning booking_id, version, location_id, hour, n, last_state
), ${numberChanges}
insert into booking_count (facility_id, location_id, span, begins, n)
select $1, ${locationOfBin}, span, ${binOf('hour', 'span')}, sum(n) from removed cross join ${binKinds}
group by 2, 3, 4 having sum(n) <> 0 order by 2, 3, 4
${addToBin}`,

  /**
   * Corrects the bins (booking_count) of facility $1. A bin is right if it contains all bookings of its period, without
   * the changes that are still in the log (booking_change). The statement adds the differences to the bins. All three
   * tables are read in one snapshot, so concurrent writes of bookings cause no differences, and no lock against them is
   * needed. Returns a row for each bin that was wrong.
   */
  recount: `insert into booking_count (facility_id, location_id, span, begins, n)
select $1, location_id, span, begins, sum(n) from (
  select ${locationOfBin} as location_id, span, ${binOf('hour', 'span')} as begins, n
  from (
    select location_id, ${hourOf('start_date')} as hour, 1 as n from booking where facility_id = $1
    union all select location_id, hour, -n from booking_change where facility_id = $1
  ) expected cross join ${binKinds}
  union all select location_id, span, begins, -n from booking_count where facility_id = $1
) difference group by location_id, span, begins having sum(n) <> 0 order by location_id, span, begins
${addToBin}
returning span`,

  lockFacility: 'select id from facility where id = $1 for no key update',

  /** Returns no row if another compaction or a recount of the facility is running. */
  tryLockFacility: 'select id from facility where id = $1 for no key update skip locked',

  setComplete: 'update booking_count_state set complete = $1 where id = 1',
} as const;

/** The maximum number of facilities that one run compacts. The next run continues. */
const maxFacilities = 1_000;

export function createCountCompaction(db: Database) {
  return {
    /** Compacts the log of up to 1000 facilities, one at a time. Returns how many facilities had rows in the log. */
    compact: async (): Promise<number> => {
      const facilities = await query<{ id: string }>(db, compactionReads.facilitiesWithLog, [maxFacilities]);
      for (const { id } of facilities) {
        await inTransaction(db, async (run) => {
          const [[locked]] = await run<[{ id: string }[]]>([compactionWrites.tryLockFacility, [id]]);
          if (locked) await run([compactionWrites.compact, [id]]);
        });
      }
      return facilities.length;
    },

    /**
     * Corrects the counts of bookings (bins) and the change feed of every facility. Can run while requests write
     * bookings. Returns the number of bins that were wrong.
     */
    recount: async (): Promise<number> => {
      let wrongBins = 0;
      for (const { id } of await query<{ id: string }>(db, compactionReads.facilities)) {
        wrongBins += await transaction(db, async (trx) => {
          // The timeouts are switched off, because reading all bookings of a large facility can take minutes.
          await query(trx, 'set local statement_timeout = 0');
          await query(trx, 'set local lock_timeout = 0');
          await query(trx, compactionWrites.lockFacility, [id]);
          await query(trx, feedWrites.reconcile, [id]);
          return (await query(trx, compactionWrites.recount, [id])).length;
        });
      }
      return wrongBins;
    },

    /**
     * Sets whether the counts are complete. Lists use the counts only if they are complete. Instances notice a change
     * within seconds.
     */
    setComplete: async (complete: boolean): Promise<void> => {
      await query(db, compactionWrites.setComplete, [complete]);
    },
  };
}
