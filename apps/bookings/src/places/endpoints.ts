// Describes and handles the endpoints for locations and bays.
import { isText, textSchema } from '@bay-booking/common/text';
import { outcomeOf, toWrite } from '@bay-booking/records/record';
import { type Database, transaction } from '@bay-booking/service/database/database';
import { apiError } from '../errors.ts';
import {
  defineEndpoint,
  type EndpointServices,
  itemSuccess,
  pageSuccess,
  sharedHeaders,
} from '../http/endpoint-parts.ts';
import { defaultPageSizes, listExample, listResponse, pageRequest } from '../http/pagination.ts';
import { checkResourceEtag, versionedResponse } from '../http/response.ts';
import {
  bayExample,
  bayListSchema,
  bayQuerySchema,
  bayResource,
  baySchema,
  locationListSchema,
  locationQuerySchema,
  locationResource,
  locationSchema,
  updateBaySchema,
} from './place.ts';
import { type BayRecord, bays } from './record.ts';
import { findRows, lockPlacesOfService, writePlaces } from './record-store.ts';
import { createPlacesStore, type PlacesStore } from './store.ts';

const locationsPath = '/api/booking-locations';
const baysPath = '/api/booking-bays';
const bayPath = `${baysPath}/{id}`;
const bayParams = { id: { description: 'Bay ID.', schema: textSchema, example: 'bay-n1-01' } } as const;
const baySuccess = itemSuccess('bay', baySchema, bayResource(bayExample));

const locationQueryExample = { ids: ['loc-north-1'], facilityIds: ['fac-north'] };
const bayQueryExample = { locationId: 'loc-north-1' };
export function createPlacesEndpoints({
  db,
  store,
  link,
  audit,
}: EndpointServices & { db: Database; store: PlacesStore }) {
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
        listExample(locationsPath, locationQueryExample, locationExample, link, defaultPageSizes.locations),
      ),
      handle: async ({ query, sentQuery, caller }) => {
        const page = pageRequest(query, defaultPageSizes.locations);
        const { rows, total } = await store.findLocations(caller.facilities, query, page);
        const items = rows.map((row) => locationResource(row, link));
        return listResponse({ path: locationsPath, sentQuery, page }, items, total, link);
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
        listExample(baysPath, bayQueryExample, bayResource(bayExample), link, defaultPageSizes.bays),
      ),
      handle: async ({ query, sentQuery, caller }) => {
        const page = pageRequest(query, defaultPageSizes.bays);
        const filter = { locationIds: query.locationId === undefined ? undefined : [query.locationId] };
        const { rows, total } = await store.findBays(caller.facilities, filter, page);
        return listResponse({ path: baysPath, sentQuery, page }, rows.map(bayResource), total, link);
      },
    }),
    defineEndpoint({
      operationId: 'getBookingBay',
      method: 'GET',
      access: 'read',
      path: bayPath,
      tag: 'Places',
      summary: 'Get one bay',
      description: "A bay of one of the token's facilities.",
      params: bayParams,
      headers: sharedHeaders.ifNoneMatch,
      success: baySuccess,
      handle: async ({ params: { id = '' }, caller }) => {
        const page = { page: 1, pageSize: 1 };
        const [bay] = isText(id) ? (await store.findBays(caller.facilities, { bayIds: [id] }, page)).rows : [];
        if (!bay) throw apiError('ERR00404');
        return versionedResponse(bayResource(bay));
      },
    }),
    defineEndpoint({
      operationId: 'updateBookingBay',
      method: 'PUT',
      access: 'schedule',
      path: bayPath,
      tag: 'Places',
      summary: 'Rename a bay, or take it out of service',
      description:
        'Sets name, description and bookable. A bay that is not bookable takes no new bookings; existing ones stay. ' +
        'An import that names the bay writes these fields again.',
      params: bayParams,
      headers: sharedHeaders.ifMatch,
      body: updateBaySchema,
      bodyExample: { name: 'Bay 1', description: 'The net is torn.', bookable: false },
      success: baySuccess,
      handle: async (request) => {
        const { params, caller, body } = request;
        const { id = '' } = params;
        if (!isText(id)) throw apiError('ERR00404');
        const bay = await transaction(db, async (tx) => {
          await lockPlacesOfService(tx);
          const page = { page: 1, pageSize: 1 };
          const [row] = (await createPlacesStore(tx).findBays(caller.facilities, { bayIds: [id] }, page)).rows;
          if (!row) throw apiError('ERR00404');
          checkResourceEtag(request.header('if-match'), bayResource(row));
          const stored = await findRows<BayRecord>(tx, bays, [id]);
          const outcomes = [...stored.values()].map((before) => ({
            ...outcomeOf(before, { ...before.record, ...body }, []),
            facilityId: row.facilityId,
          }));
          writePlaces(tx, bays, toWrite(outcomes), caller);
          return { ...row, ...body };
        });
        audit(request, { action: 'bay.updated', facilityIds: [bay.facilityId], target: id });
        return versionedResponse(bayResource(bay));
      },
    }),
  ];
}
