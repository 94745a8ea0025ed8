// Reads the events of the management API and the status of a facility, and records when facilities were last used.
import { type Database, query } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.ts';

export interface EventRow {
  readonly number: number;
  readonly at: string;
  readonly action: string;
  readonly clientId: string;
  readonly facilityId: string;
  readonly target: string;
  readonly changed: readonly string[];
}

// A parameter that is null is no filter.
const events = `select number::float8 as number, at, action, client_id as "clientId", facility_id as "facilityId", target,
  changed
from management_event where number > $1 and ($2::text is null or facility_id = $2) and ($3::text is null or action = $3)
order by number limit $4`;

export interface EventFilter {
  readonly facilityId?: string | undefined;
  readonly action?: string | undefined;
}

export const listEvents = (db: Database, after: number, { facilityId, action }: EventFilter, limit: number) =>
  query<EventRow>(db, events, [after, facilityId ?? null, action ?? null, limit]);

const counts = `select
  (select count(*)::int from location where facility_id = $1 and removed_at is null) as locations,
  (select count(*)::int from bay where facility_id = $1 and removed_at is null) as bays,
  (select count(*)::int from booking where facility_id = $1 and end_date > now()) as "openBookings"`;
const webhookStates = `select state, count(*)::int as n from webhook where facility_ids @> array[$1] group by state`;
const lastRequest = 'select last_request_at as "lastRequestAt" from facility_activity where facility_id = $1';

interface Counts {
  readonly locations: number;
  readonly bays: number;
  readonly openBookings: number;
}

export async function readStatus(db: Database, id: string) {
  const [[facility], webhooks, [activity]] = await Promise.all([
    query<Counts>(db, counts, [id]),
    query<{ state: string; n: number }>(db, webhookStates, [id]),
    query<{ lastRequestAt: string }>(db, lastRequest, [id]),
  ]);
  return {
    id,
    ...facility,
    webhooks: { active: 0, paused: 0, disabled: 0, ...Object.fromEntries(webhooks.map(({ state, n }) => [state, n])) },
    lastRequestAt: activity?.lastRequestAt ?? null,
  };
}

const noteRequest = `insert into facility_activity (facility_id, last_request_at)
select id, clock_timestamp() from unnest($1::text[]) id order by id
on conflict (facility_id) do update set last_request_at = excluded.last_request_at`;

/** Returns a function to be called for each request. It writes once a minute, and nobody waits for it. */
export function createActivity(db: Database, logger: Logger): (caller: Caller) => void {
  const recent = new LRUCache<string, true>({ max: 100_000, ttl: 60_000 });
  return ({ facilities }) => {
    const ids = facilities.filter((id) => !recent.has(id));
    if (ids.length === 0) return;
    for (const id of ids) recent.set(id, true);
    query(db, noteRequest, [ids]).catch((err: unknown) => logger.warn({ err }, 'last request not recorded'));
  };
}
