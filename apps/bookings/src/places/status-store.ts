// Reads the status of a facility and records when facilities were last used.
import { type Database, query } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.ts';
import { isDisabledFacility } from '../webhooks/disabled-store.ts';

const counts = `select id,
  (select count(*)::int from location where facility_id = $1 and removed_at is null) as locations,
  (select count(*)::int from bay where facility_id = $1 and removed_at is null) as bays,
  (select count(*)::int from booking where facility_id = $1 and end_date > now()) as "openBookings"
from facility where id = $1 and removed_at is null`;
const webhookStates = `select count(*) filter (where state = 'active' and not is_disabled)::int as active,
  count(*) filter (where state = 'paused' or state = 'active' and is_disabled)::int as paused,
  count(*) filter (where state = 'disabled')::int as disabled
from webhook cross join (select ${isDisabledFacility('$1::text')} as is_disabled) facility
where facility_ids @> array[$1::text]`;
const lastRequest = 'select last_request_at as "lastRequestAt" from facility_activity where facility_id = $1';

/** As `statusSchema` of management.ts. */
export async function readStatus(db: Database, id: string): Promise<object | undefined> {
  const [[facility], [webhooks], [activity]] = await Promise.all([
    query<object>(db, counts, [id]),
    query<object>(db, webhookStates, [id]),
    query<{ lastRequestAt: string }>(db, lastRequest, [id]),
  ]);
  return facility && { ...facility, webhooks, lastRequestAt: activity?.lastRequestAt ?? null };
}

const noteRequest = `insert into facility_activity (facility_id, last_request_at)
select id, clock_timestamp() from unnest($1::text[]) id order by id
on conflict (facility_id) do update set last_request_at = excluded.last_request_at`;

/** Returns a function to be called for each request. It writes once a minute, and nobody waits for it. */
export function createActivity(db: Database, logger: Logger): (caller: Caller) => void {
  const recent = new LRUCache<string, true>({ maxSize: 100_000, sizeCalculation: () => 1, ttl: 60_000 });
  return ({ facilities }) => {
    const ids = facilities.filter((id) => !recent.has(id));
    if (ids.length === 0) return;
    for (const id of ids) recent.set(id, true);
    query(db, noteRequest, [ids]).catch((err: unknown) => logger.warn({ err }, 'last request not recorded'));
  };
}
