// Describes and handles the endpoints for locations and bays.
import type { MakeLink } from '@bay-booking/common/links';
import { isText, textSchema } from '@bay-booking/common/text';
import { apiError } from '../errors.ts';
import { defineEndpoint, pageSuccess } from '../http/endpoint-parts.ts';
import { defaultPageSizes, listExample, listResponse, pageRequest } from '../http/pagination.ts';
import { bayExample, bayResource, locationResource } from './resource.ts';
import { bayListSchema, bayQuerySchema, locationListSchema, locationQuerySchema, locationSchema } from './schema.ts';
import type { PlacesStore } from './store.ts';

const locationsPath = '/api/booking-locations';
const baysPath = '/api/booking-bays';

const locationQueryExample = { ids: ['loc-north-1'], facilityIds: ['fac-north'] };
const bayQueryExample = { locationId: 'loc-north-1' };
export interface PlacesServices {
  readonly link: MakeLink;
  readonly store: PlacesStore;
}

export function createPlacesEndpoints({ store, link }: PlacesServices) {
  const { locationId, locationName, facilityId, timeZone } = bayExample;
  const locationExample = locationResource({ id: locationId, name: locationName, facilityId, timeZone }, link);

  return [
    defineEndpoint({
      operationId: 'listBookingLocations',
      method: 'GET',
      access: 'read',
      path: locationsPath,
      tag: 'Places',
      summary: 'List booking locations',
      description: "The locations of the token's facilities, by name.",
      query: locationQuerySchema,
      queryExamples: locationQueryExample,
      success: pageSuccess(
        'locations',
        locationListSchema,
        listExample(locationsPath, locationQueryExample, defaultPageSizes.locations, locationExample, link),
      ),
      handle: async ({ query, caller }) => {
        const page = pageRequest(query, defaultPageSizes.locations);
        const { rows, total } = await store.findLocations(caller.facilities, query, page);
        const items = rows.map((row) => locationResource(row, link));
        return listResponse({ path: locationsPath, query, page }, items, total, link);
      },
    }),
    defineEndpoint({
      operationId: 'getBookingLocation',
      method: 'GET',
      access: 'read',
      path: `${locationsPath}/{id}`,
      tag: 'Places',
      summary: 'Get one booking location',
      description: "A location of one of the token's facilities.",
      params: { id: { description: 'Location ID.', schema: textSchema, example: 'loc-north-1' } },
      success: { status: 200, description: 'The location.', schema: locationSchema, example: locationExample },
      handle: async ({ params: { id = '' }, caller }) => {
        // PostgreSQL returns an error for some strings, such as U+0000.
        const row = isText(id) ? await store.findLocation(caller.facilities, id) : undefined;
        if (!row) throw apiError('ERR00404');
        return { status: 200, body: locationResource(row, link) };
      },
    }),
    defineEndpoint({
      operationId: 'listBookingBays',
      method: 'GET',
      access: 'read',
      path: baysPath,
      tag: 'Places',
      summary: 'List the bays of a location',
      description: "The bays of a location, or of all of the token's facilities, by name.",
      query: bayQuerySchema,
      queryExamples: bayQueryExample,
      success: pageSuccess(
        'bays',
        bayListSchema,
        listExample(baysPath, bayQueryExample, defaultPageSizes.bays, bayResource(bayExample), link),
      ),
      handle: async ({ query, caller }) => {
        const page = pageRequest(query, defaultPageSizes.bays);
        const filter = { locationIds: query.locationId === undefined ? undefined : [query.locationId] };
        const { rows, total } = await store.findBays(caller.facilities, filter, page);
        return listResponse({ path: baysPath, query, page }, rows.map(bayResource), total, link);
      },
    }),
  ];
}
