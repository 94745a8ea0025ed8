// Describes and handles GET /api/booking-usage (docs/behaviour.md, "Usage").
import { findLengthErrors, parseDates } from '@bay-booking/common/date-times';
import { namedSchema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { textSchema } from '@bay-booking/common/text';
import { selectFacility } from '../changes/select-facility.ts';
import { dateTimeSchema, defineEndpoint, type EndpointServices, idsSchema } from '../http/endpoint-parts.ts';
import type { PlacesStore } from '../places/store.ts';
import { countUsage, type UsageItem } from './count.ts';
import type { UsageStore } from './store.ts';
import { divisions } from './timeline.ts';

const path = '/api/booking-usage';
const maxDays = 400;
const count = { type: 'integer', minimum: 0 } as const;

const usageQuerySchema = {
  type: 'object',
  required: ['startDate', 'endDate', 'by'],
  properties: {
    facilityId: { ...textSchema, description: 'Mandatory if the token names several facilities.' },
    locationIds: idsSchema('Locations. With bayIds, a bay must match both.'),
    bayIds: idsSchema('Bays.'),
    startDate: { ...dateTimeSchema, description: 'Start of the interval.' },
    endDate: { ...dateTimeSchema, description: `End of the interval, at most ${maxDays} × 24 hours after the start.` },
    by: { type: 'string', enum: divisions, description: 'What each item counts.' },
  },
} as const;

const usageItemSchema = namedSchema('BookingUsageItem', {
  key: {
    type: ['string', 'null'],
    description:
      'A date, monday to sunday, 0 to 23, or an id. For client, the client that created the bookings; null if the ' +
      'history does not know it any more.',
  },
  bookings: { ...count, description: 'The bookings that begin here.' },
  bookedMinutes: { type: 'number', minimum: 0, description: 'The booked time here, within the interval.' },
  openMinutes: {
    type: ['number', 'null'],
    description: 'The opening hours of all bays here, within the interval. Null for client.',
  },
  occupancy: {
    type: ['number', 'null'],
    description: 'The part of openMinutes that is booked, from 0 to 1. Null for client, and if nothing is open.',
  },
  cancelled: { ...count, description: 'The deleted bookings that began here.' },
  noShows: { ...count, description: 'The bookings that begin here and have the attendance no-show.' },
});

const usageSchema = namedSchema('BookingUsage', {
  items: { type: 'array', items: usageItemSchema },
  facilityId: { type: 'string', description: 'Facility ID.' },
  timeZone: { type: 'string', description: 'The time zone of the keys.' },
  _links: linksSchema('self'),
});

type UsageServices = EndpointServices & { readonly places: PlacesStore; readonly usage: UsageStore };

const queryExample = {
  facilityId: 'fac-north',
  startDate: '2030-05-01T00:00:00+02:00',
  endDate: '2030-06-01T00:00:00+02:00',
  by: 'day',
} as const;
const itemExample: UsageItem = {
  key: '2030-05-01',
  bookings: 42,
  bookedMinutes: 2_700,
  openMinutes: 9_000,
  occupancy: 0.2967,
  cancelled: 3,
  noShows: 1,
};

export function createUsageEndpoint({ places, usage, config, link }: UsageServices) {
  const bodyOf = (items: readonly UsageItem[], facilityId: string, timeZone: string, query: object) => ({
    items,
    facilityId,
    timeZone,
    _links: { self: link('GET', `${path}${writeQueryString({ ...query })}`) },
  });
  return defineEndpoint({
    operationId: 'getBookingUsage',
    method: 'GET',
    access: 'read',
    path,
    tag: 'Usage',
    summary: 'Count bookings and booked time',
    description:
      'How full the bays of a facility were, by day, weekday, hour, bay or client, in the time zone of the facility. ' +
      'Closures and bays out of service count as open. With Accept: text/csv, the items as CSV.',
    query: usageQuerySchema,
    queryExamples: queryExample,
    success: {
      status: 200,
      description: 'The items in the order of the keys, also those without bookings.',
      schema: usageSchema,
      example: bodyOf([itemExample], queryExample.facilityId, 'Europe/Copenhagen', queryExample),
    },
    tableField: 'items',
    handlesValidationErrors: true,
    handle: async ({ query, validationErrors, caller }) => {
      const dates = parseDates(query);
      const reversed = { field: 'endDate', kind: 'invalid', hint: '', code: 'ERR00010' } as const;
      const errors = [
        ...validationErrors,
        ...findLengthErrors(dates, maxDays),
        ...(dates.isReversed ? [reversed] : []),
      ];
      const facilityId = selectFacility(query, errors, caller, config.baseUrl);
      // Without these, `errors` is not empty.
      const { start, end, by } = { ...dates, ...query } as Required<typeof dates & typeof query>;
      const interval = { start: Number(start), end: Number(end) };
      const [facility] = await places.findFacilities([facilityId]);
      // A facility of the token that was never imported has no bays.
      const { timeZone } = facility ?? { timeZone: 'UTC' };
      const bays = await usage.findBays({ ...query, facilityId }, timeZone);
      const selected = query.locationIds || query.bayIds ? bays.map(({ id }) => id) : undefined;
      const rows = await usage.findUse(by === 'client' ? 'client' : 'bay', facilityId, interval, selected);
      const items = countUsage({ by, interval, timeZone, bays, rows });
      return { status: 200, body: bodyOf(items, facilityId, timeZone, query) };
    },
  });
}
