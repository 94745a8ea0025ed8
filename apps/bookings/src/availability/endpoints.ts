// Describes and handles GET /api/booking-availability, which returns the times when bays are free (docs/behaviour.md,
// "Availability").
import { endpointDefiner } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller } from '../auth/caller.ts';
import { parseDateTime } from '../bookings/date-times.ts';
import { badRequest, fieldCodes, problemOf, problemsOf } from '../errors.ts';
import type { FindHold } from '../holds/store.ts';
import { pageSuccess } from '../http/endpoint-parts.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../http/pagination.ts';
import { availabilityExample } from './examples.ts';
import type { Interval } from './interval.ts';
import { isoText } from './iso-text.ts';
import { findGaps } from './rule.ts';
import { createScheduleCache } from './rules-store.ts';
import { availabilityQuerySchema, availabilitySchema, maxDays } from './schema.ts';
import type { AvailabilityStore, BayRow, TakenTimes } from './store.ts';

type AvailabilityQuery = Partial<FromSchema<typeof availabilityQuerySchema>>;

const defineEndpoint = endpointDefiner<Caller>();
const path = '/api/booking-availability';
const maxMilliseconds = maxDays * 86_400_000;

export interface AvailabilityServices {
  readonly store: AvailabilityStore;
  readonly findHold: FindHold;
  readonly link: MakeLink;
}

export function createAvailabilityEndpoints({ store, findHold, link }: AvailabilityServices) {
  const schedules = createScheduleCache();

  /** Reads the bookings, holds and closures that make bays unavailable, and groups them by facility. */
  async function findTaken(
    bays: readonly BayRow[],
    interval: Interval,
    options: { readonly asOf: string; readonly exceptHoldId: string | undefined },
  ): Promise<ReadonlyMap<string, TakenTimes>> {
    const byFacility = [...Map.groupBy(bays, ({ facilityId }) => facilityId)];
    const entries = byFacility.map(async ([facilityId, group]): Promise<[string, TakenTimes]> => {
      const bayIds = group.map(({ id }) => id);
      return [facilityId, await store.findTaken(facilityId, bayIds, interval, options)];
    });
    return new Map(await Promise.all(entries));
  }

  function gapsOf(bay: BayRow, { taken, closures }: TakenTimes, interval: Interval): Interval[] {
    const { id, bookable, locationId, hours, timeZone } = bay;
    const closuresOfBay = closures.filter(
      (closure) => closure.locationId === locationId || closure.bayIds?.includes(id),
    );
    const rules = { bookable, schedule: schedules.get(hours, timeZone), closures: closuresOfBay };
    return findGaps(rules, taken.get(id) ?? [], interval);
  }

  return [
    defineEndpoint({
      operationId: 'getAvailability',
      clientFunction: 'availability.search',
      method: 'GET',
      path,
      tag: 'Availability',
      summary: 'Find the free times of bays',
      description:
        'Gaps between bookings, holds, closures and closing times, clipped to the interval, by the name of the bay. ' +
        'As of asOf, any interval inside a gap can be booked, and any other interval is refused.',
      query: availabilityQuerySchema,
      queryExamples: {
        locationIds: ['loc-north-1'],
        startDate: '2030-05-01T06:00:00.000Z',
        endDate: '2030-05-02T06:00:00.000Z',
      },
      success: pageSuccess('bays', availabilitySchema, availabilityExample(link)),
      errorCodes: [...fieldCodes, 'ERR00010'],
      reportsValidationErrors: true,
      handle: async ({ query, validationErrors, caller }) => {
        const { start, end } = readInterval(query, validationErrors);
        const page = pageRequest(query, defaultPageSizes.availability);
        const hold = query.holdId === undefined ? undefined : await findHold(query.holdId, caller);
        const { rows, asOf, total } = await store.findBays(caller.facilities, query, page);
        const interval = { start: Math.max(start, Date.parse(asOf)), end };
        const taken =
          interval.start < interval.end ? await findTaken(rows, interval, { asOf, exceptHoldId: hold?.id }) : undefined;
        const items = rows.map((bay) => {
          const takenInFacility = taken?.get(bay.facilityId);
          return bayAvailability(bay, takenInFacility ? gapsOf(bay, takenInFacility, interval) : [], query.minMinutes);
        });
        const response = listResponse({ path, query, page }, items, total, link);
        const { items: _, ...envelope } = response.body as { items: unknown };
        return {
          ...response,
          body: { items, asOf, ...envelope },
          headers: { ...response.headers, 'Cache-Control': 'no-store' },
        };
      },
    }),
  ];
}

/** @throws {ApiError} 400 with every problem of the request */
function readInterval(query: AvailabilityQuery, routerErrors: readonly ValidationError[]): Interval {
  const { locationIds, bayIds } = query;
  const errors = [...routerErrors];
  const isReported = (field: string) => routerErrors.some((error) => error.field === field);
  if (!locationIds && !bayIds && !isReported('locationIds') && !isReported('bayIds'))
    errors.push({ field: 'locationIds', kind: 'missing', hint: 'locationIds or bayIds is needed' });
  const [start, end] = [query.startDate, query.endDate].map((text) =>
    text ? parseDateTime(text)?.getTime() : undefined,
  );
  const isReversed = start !== undefined && end !== undefined && end < start;
  if (start !== undefined && end !== undefined && end - start > maxMilliseconds)
    errors.push({ field: 'endDate', kind: 'invalid', hint: `must be at most ${maxDays} days after startDate` });
  if (errors.length > 0 || isReversed || start === undefined || end === undefined)
    throw badRequest([...problemsOf(errors), ...(isReversed ? [problemOf('ERR00010')] : [])]);
  return { start, end };
}

function bayAvailability(bay: BayRow, gaps: readonly Interval[], minMinutes = 0) {
  const { id, name, bookable, locationId, locationName, facilityId, timeZone } = bay;
  const longEnough = gaps.filter(({ start, end }) => end - start >= minMinutes * 60_000);
  return {
    bay: { id, name, bookable },
    location: { id: locationId, name: locationName, facilityId, timeZone },
    free: longEnough.map(({ start, end }) => ({ startDate: isoText(start), endDate: isoText(end) })),
    _links: {},
  };
}
