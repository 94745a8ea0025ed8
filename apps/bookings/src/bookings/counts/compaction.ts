// Who keeps booking_count? Fold: what writers have noted in booking_change is added to it and goes. Recount: what is missing for
// whatever reason is added. Both hold the facility's row, so that one of them is at work per facility; writers wait for neither.
import { type Database, query } from '@bay-booking/service/database/database';
import { countReads, hourOf } from '../storage/statements.ts';
import { binOf } from './statements.ts';

/** A booking counts for its facility by hour, day and month, and for its location by day and month. */
const scopes = '(values (false, 1), (false, 24), (false, 768), (true, 24), (true, 768)) scope (located, span)';
const upsert = (source: string): string => `insert into booking_count (facility_id, location_id, span, begins, n)
select $1, case when located then location_id else '' end, span, ${binOf('hour', 'span')}, sum(n) from (${source}) noted
cross join ${scopes} group by 2, 3, 4 having sum(n) <> 0 order by 2, 3, 4
on conflict (facility_id, location_id, span, begins) do update set n = booking_count.n + excluded.n`;

export const countWrites = {
  fold: `with gate as materialized (select id from facility where id = $1 for no key update skip locked),
noted as (
  delete from booking_change where facility_id = $1 and (select count(*) from gate) > 0 returning location_id, hour, n
)
${upsert('select location_id, hour, n from noted')}`,

  /** Answers what was wrong: in one snapshot the bookings are compared with what the counts and the changes say. */
  recount: `insert into booking_count (facility_id, location_id, span, begins, n)
select $1, location_id, span, begins, sum(n) from (
  select case when located then location_id else '' end as location_id, span, ${binOf('hour', 'span')} as begins, n
  from (
    select location_id, ${hourOf('start_date')} as hour, 1 as n from booking where facility_id = $1
    union all select location_id, hour, -n from booking_change where facility_id = $1
  ) noted cross join ${scopes}
  union all select location_id, span, begins, -n from booking_count where facility_id = $1
) missing group by location_id, span, begins having sum(n) <> 0 order by location_id, span, begins
on conflict (facility_id, location_id, span, begins) do update set n = booking_count.n + excluded.n
returning span`,

  lock: 'select id from facility where id = $1 for no key update',

  setState: 'update booking_count_state set complete = $1 where id = 1',
} as const;

export type CountingStore = ReturnType<typeof createCountingStore>;

const facilitiesAtOnce = 1_000;

export function createCountingStore(db: Database) {
  return {
    /** One facility after the other, those with the most changes first; resolves to how many facilities had any. */
    fold: async (): Promise<number> => {
      const changed = await query<{ id: string }>(db, countReads.changed, [facilitiesAtOnce]);
      for (const { id } of changed) await query(db, countWrites.fold, [id]);
      return changed.length;
    },

    /** Puts right the counts of every facility, under whatever load; resolves to how many were wrong. */
    recount: async (): Promise<number> => {
      let wrong = 0;
      for (const { id } of await query<{ id: string }>(db, countReads.facilities)) {
        wrong += await db.transaction(async (trx) => {
          await query(trx, 'set local statement_timeout = 0');
          await query(trx, 'set local lock_timeout = 0');
          await query(trx, countWrites.lock, [id]);
          return (await query(trx, countWrites.recount, [id])).length;
        });
      }
      return wrong;
    },

    /** Whether totals are told by the counts; readers notice within seconds. */
    setComplete: async (complete: boolean): Promise<void> => {
      await query(db, countWrites.setState, [complete]);
    },
  };
}
