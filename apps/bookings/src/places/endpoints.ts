// Describes and handles the endpoints for locations and bays.
import { endpointDefiner } from '@bay-booking/common/endpoint';
import type { Caller } from '../auth/caller.ts';
import { apiError } from '../errors.ts';
import { pageSuccess } from '../http/endpoint-parts.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../http/pagination.ts';
import { isText, textSchema } from '../http/schemas.ts';
import type { SharedServices } from '../http/shared-services.ts';
import {
  bayListExample,
  bayQueryExample,
  locationExample,
  locationListExample,
  locationQueryExample,
} from './examples.ts';
import { bayResource, locationResource } from './resource.ts';
import { bayListSchema, bayQuerySchema, locationListSchema, locationQuerySchema, locationSchema } from './schema.ts';
import type { PlacesStore } from './store.ts';

const defineEndpoint = endpointDefiner<Caller>();

export interface PlacesServices extends SharedServices {
  readonly store: Pick<PlacesStore, 'findLocation' | 'findLocations' | 'findBays'>;
}

export function createPlacesEndpoints({ store, link }: PlacesServices) {
  return [
    defineEndpoint({
      operationId: 'listBookingLocations',
      clientFunction: 'locations.list',
      method: 'GET',
      path: '/api/booking-locations',
      tag: 'Places',
      summary: 'List booking locations',
      description: "The locations of the token's facilities, by name.",
      query: locationQuerySchema,
      queryExamples: locationQueryExample,
      success: pageSuccess('locations', locationListSchema, locationListExample(link)),
      handle: async ({ query, caller }) => {
        const page = pageRequest(query, defaultPageSizes.locations);
        const { rows, total } = await store.findLocations(caller.facilities, query, page);
        const items = rows.map((row) => locationResource(row, link));
        return listResponse({ path: '/api/booking-locations', query, page }, items, total, link);
      },
    }),
    defineEndpoint({
      operationId: 'getBookingLocation',
      clientFunction: 'locations.get',
      method: 'GET',
      path: '/api/booking-locations/{id}',
      tag: 'Places',
      summary: 'Get one booking location',
      description: "A location of one of the token's facilities.",
      params: { id: { description: 'Location ID.', schema: textSchema, example: 'loc-north-1' } },
      success: { status: 200, description: 'The location.', schema: locationSchema, example: locationExample(link) },
      handle: async ({ params: { id = '' }, caller }) => {
        // PostgreSQL returns an error for some texts, such as U+0000.
        const row = isText(id) ? await store.findLocation(caller.facilities, id) : undefined;
        if (!row) throw apiError('ERR00404');
        return { status: 200, body: locationResource(row, link) };
      },
    }),
    defineEndpoint({
      operationId: 'listBookingBays',
      clientFunction: 'bays.list',
      method: 'GET',
      path: '/api/booking-bays',
      tag: 'Places',
      summary: 'List the bays of a location',
      description: "The bays of a location, or of all of the token's facilities, by name.",
      query: bayQuerySchema,
      queryExamples: bayQueryExample,
      success: pageSuccess('bays', bayListSchema, bayListExample(link)),
      handle: async ({ query, caller }) => {
        const page = pageRequest(query, defaultPageSizes.bays);
        const { rows, total } = await store.findBays(caller.facilities, query.locationId, page);
        return listResponse({ path: '/api/booking-bays', query, page }, rows.map(bayResource), total, link);
      },
    }),
  ];
}
