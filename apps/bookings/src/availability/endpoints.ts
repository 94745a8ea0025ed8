// Describes and handles GET /api/booking-availability (docs/behaviour.md, "Availability").
import { findLengthErrors, parseDates } from '@bay-booking/common/date-times';
import { type EndpointResponse, namedSchema, responseSchema } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Database } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller } from '../auth/caller.ts';
import { badRequest, problemOf, problemsOf } from '../errors.ts';
import {
  dateTimeSchema as dateTime,
  defineEndpoint,
  type EndpointServices,
  idsSchema,
  noLinksSchema,
  pageSuccess,
  string,
} from '../http/endpoint-parts.ts';
import {
  defaultPageSizes,
  type ListRequest,
  listQuerySchema,
  listResponse,
  listSchema,
  pageRequest,
} from '../http/pagination.ts';
import { bayExample } from '../places/place.ts';
import type { BayRow, PlacesStore } from '../places/store.ts';
import { type Interval, timesOf } from '../time/interval.ts';
import { readBayStatesWithoutReasons, readClock } from './bay-states.ts';
import { findGaps } from './rule.ts';

/** The maximum length of a search interval. */
const maxDays = 32;

const availabilityQuerySchema = {
  ...listQuerySchema(
    {
      locationIds: idsSchema('Locations. Mandatory without bayIds. With bayIds, a bay must match both.'),
      bayIds: idsSchema('Bays. Mandatory without locationIds.'),
      startDate: { ...dateTime, description: 'Start of the interval.' },
      endDate: { ...dateTime, description: `End of the interval, at most ${maxDays} × 24 hours after the start.` },
      minMinutes: { type: 'integer', minimum: 1, maximum: 1440, description: 'Leaves out shorter gaps.' },
      holdId: { ...textSchema, description: 'A hold of the client. Its time counts as free.' },
    },
    defaultPageSizes.availability,
  ),
  required: ['startDate', 'endDate'],
} as const;

const freeTimeSchema = namedSchema('FreeTime', { startDate: dateTime, endDate: dateTime });

const bayAvailabilitySchema = namedSchema('BayAvailability', {
  bay: {
    ...responseSchema({ id: string, name: string, bookable: { type: 'boolean' } }),
    description: 'A bay that is not bookable has no gaps.',
  },
  location: {
    ...responseSchema({ id: string, name: string, facilityId: string, timeZone: string }),
    description: 'The owning location.',
  },
  free: {
    type: 'array',
    items: freeTimeSchema,
    description: 'The gaps, in order. Any interval inside a gap can be booked. A gap does not include its end.',
  },
  _links: noLinksSchema,
});

const envelope = listSchema(bayAvailabilitySchema);

const availabilitySchema = {
  title: 'Availability',
  ...envelope,
  required: [...envelope.required, 'asOf'],
  properties: { ...envelope.properties, asOf: { ...dateTime, description: 'When the bays were read.' } },
} as const;

type AvailabilityQuery = Partial<FromSchema<typeof availabilityQuerySchema>>;

const gapExample = { start: Date.parse('2030-05-01T08:00:00.000Z'), end: Date.parse('2030-05-01T10:30:00.000Z') };

interface AvailabilityServices extends EndpointServices {
  readonly db: Database;
  readonly places: PlacesStore;
  /** Finds a live hold of the caller. */
  readonly findHold: (id: string, caller: Caller) => Promise<{ readonly id: string } | undefined>;
}

export function createAvailabilityEndpoint({ db, places, findHold, link }: AvailabilityServices) {
  const example = availabilityResponse(
    { items: [bayAvailability(bayExample, [gapExample])], asOf: '2026-11-30T19:02:11.123Z', total: 1 },
    { sentQuery: { bayIds: [bayExample.id] }, page: pageRequest({}, defaultPageSizes.availability) },
    link,
  ).body;

  return defineEndpoint({
    operationId: 'getAvailability',
    method: 'GET',
    access: 'read',
    path: availabilityPath,
    tag: 'Availability',
    summary: 'Find the free times of bays',
    description:
      'Gaps between bookings, holds, closures and closing times, clipped to the interval, by the name of the bay. ' +
      'As of asOf, any interval inside a gap can be booked, and any other interval is rejected.',
    query: availabilityQuerySchema,
    queryExamples: {
      locationIds: ['loc-north-1'],
      startDate: '2030-05-01T06:00:00.000Z',
      endDate: '2030-05-02T06:00:00.000Z',
    },
    success: pageSuccess('bays', availabilitySchema, example),
    handlesValidationErrors: true,
    handle: async ({ query, sentQuery, validationErrors, caller }) => {
      const requested = readInterval(query, validationErrors);
      const page = pageRequest(query, defaultPageSizes.availability);
      // The client can book the time of its own hold, so this hold makes no bay unavailable.
      const hold = query.holdId === undefined ? undefined : await findHold(query.holdId, caller);
      const [asOf, { rows, total }] = await Promise.all([
        readClock(db),
        places.findBays(caller.facilities, query, page),
      ]);
      // Times before asOf are never free. If the whole interval is before asOf, no bay has a gap.
      const interval = { start: Math.max(requested.start, Date.parse(asOf)), end: requested.end };
      const hasTime = interval.start < interval.end;
      const facilities = hasTime ? [...Map.groupBy(rows, ({ facilityId }) => facilityId)] : [];
      const states = await Promise.all(
        facilities.map(([facilityId, bays]) => {
          const ids = bays.map(({ id }) => id);
          return readBayStatesWithoutReasons(db, facilityId, ids, timesOf(interval), hold?.id);
        }),
      );
      const stateOf = new Map(states.flatMap((found) => [...found]));
      const items = rows.map((bay) => {
        const state = stateOf.get(bay.id);
        return bayAvailability(bay, state ? findGaps(state, interval) : [], query.minMinutes);
      });
      return availabilityResponse({ items, asOf, total }, { sentQuery, page }, link);
    },
  });
}

/** @throws {ApiError} 400 with every problem of the request */
function readInterval(query: AvailabilityQuery, routerErrors: readonly ValidationError[]): Interval {
  const errors = [...routerErrors];
  const isPlaceReported = routerErrors.some(({ field }) => field === 'locationIds' || field === 'bayIds');
  if (!query.locationIds && !query.bayIds && !isPlaceReported)
    errors.push({ field: 'locationIds', kind: 'missing', hint: 'locationIds or bayIds is needed' });
  // If a date is undefined, it is missing or invalid and `routerErrors` contains its error.
  const dates = parseDates(query);
  const { start, end, isReversed } = dates;
  const problems = problemsOf([...errors, ...findLengthErrors(dates, maxDays)]);
  if (isReversed) problems.push(problemOf('ERR00010'));
  if (problems.length > 0 || !start || !end) throw badRequest(problems);
  return { start: start.getTime(), end: end.getTime() };
}

const availabilityPath = '/api/booking-availability';

/** Returns the gaps of a bay: the times when it is free. Gaps that are shorter than `minMinutes` are left out. */
function bayAvailability(bay: BayRow, gaps: readonly Interval[], minMinutes = 0) {
  const { id, name, bookable, locationId, locationName, facilityId, timeZone } = bay;
  const longEnough = gaps.filter(({ start, end }) => end - start >= minMinutes * 60_000);
  return {
    bay: { id, name, bookable },
    location: { id: locationId, name: locationName, facilityId, timeZone },
    free: longEnough.map(({ start, end }) => ({ startDate: toText(start), endDate: toText(end) })),
    _links: {},
  };
}

function availabilityResponse(
  { items, asOf, total }: { items: readonly ReturnType<typeof bayAvailability>[]; asOf: string; total: number },
  request: Omit<ListRequest, 'path'>,
  link: MakeLink,
): EndpointResponse {
  const { body, headers } = listResponse({ ...request, path: availabilityPath }, items, total, link);
  return {
    status: 200,
    // `body` also contains `items`. They are named here so that `asOf` comes directly after them in the JSON.
    body: { items, asOf, ...(body as object) },
    headers: { ...headers, 'Cache-Control': 'no-store' },
  };
}

const dayMs = 86_400_000;
/** The rest of an instant's text for each minute of a day. */
const minutes = Array.from({ length: 1440 }, (_, minute) => new Date(minute * 60_000).toISOString().slice(11));
let latest = { day: Number.NaN, date: '' };

/** A page has hundreds of instants. `toISOString` alone would take a quarter of the CPU time of a request. */
function toText(instant: number): string {
  const day = Math.floor(instant / dayMs);
  const minute = minutes[(instant - day * dayMs) / 60_000];
  if (minute === undefined) return new Date(instant).toISOString();
  if (day !== latest.day) latest = { day, date: new Date(instant).toISOString().slice(0, 11) };
  return latest.date + minute;
}
