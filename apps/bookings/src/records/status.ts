// Describes and handles the status of a facility and records when facilities were last used.
import { type Endpoint, endpointDefiner } from '@bay-booking/common/endpoint';
import { isText } from '@bay-booking/common/text';
import type { Caller as Operator } from '@bay-booking/records/record-endpoints';
import { type Database, query } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.ts';
import { responseSchema } from '../http/schemas.ts';
import { isDisabledFacility } from '../webhooks/disabled-store.ts';
import { placeErrors } from './records.ts';

const integer = { type: 'integer', minimum: 0 } as const;

export const statusSchema = responseSchema({
  id: { type: 'string' },
  locations: integer,
  bays: integer,
  openBookings: { ...integer, description: 'The bookings that have not ended.' },
  webhooks: responseSchema({ active: integer, paused: integer, disabled: integer }),
  lastRequestAt: {
    type: ['string', 'null'],
    format: 'date-time',
    description: 'The last request with a token for the facility, to the minute. Null if there was none.',
  },
});

export function statusEndpoint(db: Database): Endpoint<Operator> {
  return endpointDefiner<Operator>()({
    operationId: 'getFacilityStatus',
    method: 'GET',
    path: '/management/facilities/{id}/status',
    access: 'read',
    tag: 'Actions',
    summary: 'Get the status of a facility',
    description: 'How much a facility has, and when it was last used.',
    success: {
      status: 200,
      description: 'The status.',
      schema: statusSchema,
      example: {
        id: 'fac-north',
        locations: 2,
        bays: 16,
        openBookings: 120,
        webhooks: { active: 1, paused: 0, disabled: 0 },
        lastRequestAt: '2030-01-01T09:00:00.000Z',
      },
    },
    handle: async ({ params: { id = '' } }) => {
      const status = isText(id) ? await readStatus(db, id) : undefined;
      if (!status) throw placeErrors.apiError('ERR00404');
      return { status: 200, body: status };
    },
  });
}

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

async function readStatus(db: Database, id: string): Promise<object | undefined> {
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
