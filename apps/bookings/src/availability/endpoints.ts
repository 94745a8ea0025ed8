// Describes and handles GET /api/booking-availability, which returns the times when bays are free (docs/behaviour.md,
// "Availability").
import { endpointDefiner } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller } from '../auth/caller.ts';
import { badRequest, problemOf, problemsOf } from '../errors.ts';
import type { FindHold } from '../holds/store.ts';
import { pageSuccess } from '../http/endpoint-parts.ts';
import { defaultPageSizes, pageRequest } from '../http/pagination.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { parseDates } from '../time/date-times.ts';
import type { Interval } from '../time/interval.ts';
import { availabilityExample } from './examples.ts';
import { availabilityPath, availabilityResponse, bayAvailability } from './resource.ts';
import { findGaps } from './rule.ts';
import { createScheduleCache } from './rules-store.ts';
import { availabilityQuerySchema, availabilitySchema, maxDays } from './schema.ts';
import type { AvailabilityStore, BayRow, TakenTimes } from './store.ts';

type AvailabilityQuery = Partial<FromSchema<typeof availabilityQuerySchema>>;

const defineEndpoint = endpointDefiner<Caller>();
const maxLengthMs = maxDays * 24 * 3_600_000;

export interface AvailabilityServices extends SharedServices {
  readonly store: AvailabilityStore;
  readonly findHold: FindHold;
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
    const entries = byFacility.map(async ([facilityId, baysOfFacility]): Promise<[string, TakenTimes]> => {
      const bayIds = baysOfFacility.map(({ id }) => id);
      return [facilityId, await store.findTaken(facilityId, bayIds, interval, options)];
    });
    return new Map(await Promise.all(entries));
  }

  /** Returns the intervals in which a bay is free. `taken` and `closures` are those of all bays of its facility. */
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
      path: availabilityPath,
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
      // `readInterval` adds its own errors to those of the router, so that the response contains all of them.
      handlesValidationErrors: true,
      handle: async ({ query, validationErrors, caller }) => {
        const requested = readInterval(query, validationErrors);
        const page = pageRequest(query, defaultPageSizes.availability);
        // The client can book the time of its own hold, so this hold makes no bay unavailable.
        const hold = query.holdId === undefined ? undefined : await findHold(query.holdId, caller);
        const { rows, asOf, total } = await store.findBays(caller.facilities, query, page);
        // Times before asOf are never free. If the whole interval is before asOf, no bay has a gap.
        const interval = { start: Math.max(requested.start, Date.parse(asOf)), end: requested.end };
        const canHaveGaps = interval.start < interval.end;
        const taken = await findTaken(canHaveGaps ? rows : [], interval, { asOf, exceptHoldId: hold?.id });
        const items = rows.map((bay) => {
          const takenInFacility = taken.get(bay.facilityId);
          return bayAvailability(bay, takenInFacility ? gapsOf(bay, takenInFacility, interval) : [], query.minMinutes);
        });
        return availabilityResponse({ items, asOf, total }, { query, page }, link);
      },
    }),
  ];
}

/** @throws {ApiError} 400 with every problem of the request */
function readInterval(query: AvailabilityQuery, routerErrors: readonly ValidationError[]): Interval {
  const errors = [...routerErrors];
  const isPlaceReported = routerErrors.some(({ field }) => field === 'locationIds' || field === 'bayIds');
  if (!query.locationIds && !query.bayIds && !isPlaceReported)
    errors.push({ field: 'locationIds', kind: 'missing', hint: 'locationIds or bayIds is needed' });
  // A date is undefined if it is missing or not valid. `routerErrors` then contains its error.
  const { start, end } = parseDates(query);
  const lengthMs = start && end ? end.getTime() - start.getTime() : 0;
  if (lengthMs > maxLengthMs)
    errors.push({ field: 'endDate', kind: 'invalid', hint: `must be at most ${maxDays} days after startDate` });
  const problems = problemsOf(errors);
  // ERR00010: endDate is before startDate.
  if (lengthMs < 0) problems.push(problemOf('ERR00010'));
  if (problems.length > 0 || !start || !end) throw badRequest(problems);
  return { start: start.getTime(), end: end.getTime() };
}
