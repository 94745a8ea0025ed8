// Describes and handles the endpoints for facilities, locations and bays of the management API.
import { type Endpoint, endpointDefiner } from '@bay-booking/common/endpoint';
import { ImportError } from '@bay-booking/common/import-document';
import type { Link, MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import type { Database } from '@bay-booking/service/database/database';
import type { Caller } from '../auth/caller.ts';
import { apiError } from '../errors.ts';
import { creationHeaders, deletionParts, etagHeader, ifNoneMatchHeader, pageSuccess } from '../http/endpoint-parts.ts';
import { checkIfMatch, isNotModified, versionedResponse } from '../http/etag.ts';
import { listExample, listResponse, pageRequest } from '../http/pagination.ts';
import { isText, textSchema } from '../http/schemas.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { findPlace, listPlaces, type PlaceFilter } from '../import/find-store.ts';
import { putPlace } from '../import/put.ts';
import { removePlace } from '../import/removal-store.ts';
import type { PlaceResource } from '../import/resource.ts';
import type { PlaceKind } from '../import/store.ts';
import { importError, placeError } from './problems.ts';
import { placeSchemas } from './schema.ts';

const defineEndpoint = endpointDefiner<Caller>();

export interface ManagementServices extends SharedServices {
  readonly db: Database;
}

const putHeaders = {
  'If-Match': {
    description: 'The request fails with 412 unless the ETag is one of these.',
    schema: { type: 'string' },
  },
  'If-None-Match': {
    description: 'With *, the request fails with 412 if the resource exists.',
    schema: { type: 'string' },
  },
} as const;

const examples: Readonly<Record<PlaceKind, PlaceResource>> = {
  facility: { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen' },
  location: { id: 'loc-north-1', facilityId: 'fac-north', name: 'North Range, ground floor' },
  bay: {
    id: 'bay-n1-01',
    locationId: 'loc-north-1',
    name: 'Bay 1',
    description: 'Bay 1 on the ground floor.',
    kind: 'RangeBay',
    bookable: true,
  },
};

const notes: Readonly<Record<PlaceKind, string>> = {
  facility: 'The body may contain locations with their bays, which are created or replaced too. Others stay.',
  location: 'Opening hours that are left out stay. The body may contain bays, which are created or replaced too.',
  bay: 'The bay and its bookings can move to another location of the facility. A bay that is not bookable stays.',
};

const deletions: Readonly<Record<PlaceKind, string>> = {
  facility: 'Fails with 409 while the facility has locations.',
  location: 'Also deletes its bays. Fails with 409 while one of them has bookings that have not ended.',
  bay: 'Fails with 409 while the bay has bookings that have not ended. Past bookings stay readable.',
};

export function createPlaceEndpoints(services: ManagementServices) {
  return [
    ...endpointsOf('facility', 'Facility', 'facilities', services),
    ...endpointsOf('location', 'Location', 'locations', services),
    ...endpointsOf('bay', 'Bay', 'bays', services),
  ];
}

function endpointsOf(
  kind: PlaceKind,
  name: string,
  collection: string,
  { db, link }: ManagementServices,
): readonly Endpoint<Caller>[] {
  const schemas = placeSchemas[kind];
  const path = `/management/${collection}`;
  const tag = 'Places';
  const example = examples[kind];
  const params = { id: { description: `${name} ID.`, schema: textSchema, example: example.id } };
  const success = { status: 200, description: `The ${kind}.`, schema: schemas.entry, example, headers: etagHeader };

  return [
    defineEndpoint({
      operationId: `list${name === 'Facility' ? 'Facilities' : `${name}s`}`,
      method: 'GET',
      path,
      access: 'read',
      tag,
      summary: `List ${collection}`,
      description: `The ${collection} of the service, by id.`,
      query: schemas.query,
      success: pageSuccess(collection, schemas.list, listExample(path, {}, 50, example, link)),
      handle: async ({ query }) => {
        const page = pageRequest(query);
        const { items, total } = await listPlaces(db, kind, query as PlaceFilter, page);
        return listResponse({ path, query, page }, items, total, link);
      },
    }),
    defineEndpoint({
      operationId: `get${name}`,
      method: 'GET',
      path: `${path}/{id}`,
      access: 'read',
      tag,
      summary: `Get a ${kind}`,
      description: `The entry of the ${kind} in an import file.`,
      params,
      headers: ifNoneMatchHeader,
      success,
      notModified: true,
      handle: async ({ params: { id = '' } }) => {
        const found = isText(id) ? await findPlace(db, kind, id) : undefined;
        if (!found) throw apiError('ERR00404');
        return versionedResponse(found.resource);
      },
    }),
    defineEndpoint({
      operationId: `put${name}`,
      method: 'PUT',
      path: `${path}/{id}`,
      access: 'write',
      tag,
      summary: `Create or replace a ${kind}`,
      description: `Returns 201 if the ${kind} is new. An optional field that is left out gets its default. ${notes[kind]}`,
      params,
      headers: putHeaders,
      body: schemas.body,
      bodyUse: 'as sent',
      bodyExample: example,
      success,
      otherSuccess: { status: 201, description: `The new ${kind}.`, schema: schemas.entry, headers: creationHeaders },
      handle: async ({ params: { id = '' }, body, caller: { clientId }, header }) => {
        const check = (current: PlaceResource | undefined): void => checkPreconditions(current, header);
        const { before, after } = await withImportErrors(putPlace(db, kind, id, body, { clientId, check }));
        const response = versionedResponse(after);
        if (before) return response;
        const location = link('GET', `${path}/${encodeURIComponent(id)}`).href;
        return { ...response, status: 201, headers: { ...response.headers, Location: location } };
      },
    }),
    defineEndpoint({
      operationId: `delete${name}`,
      method: 'DELETE',
      path: `${path}/{id}`,
      access: 'write',
      tag,
      summary: `Delete a ${kind}`,
      description: deletions[kind],
      params,
      ...deletionParts,
      handle: async ({ params: { id = '' }, caller: { clientId }, header }) => {
        if (!isText(id)) throw apiError('ERR00404');
        const check = (current: PlaceResource): void => checkIfMatch(header('if-match'), current);
        const removal = await removePlace(db, kind, id, clientId, check);
        if (removal === 'unknown') throw apiError('ERR00404');
        if (removal === 'has locations') throw placeError('PLACE00002');
        if (removal === 'has bookings') throw placeError('PLACE00001', { bookings: bookingsLink(kind, id, link).href });
        return { status: 204 };
      },
    }),
  ];
}

function checkPreconditions(current: PlaceResource | undefined, header: (name: string) => string | undefined): void {
  const ifMatch = header('if-match');
  if (current) {
    checkIfMatch(ifMatch, current);
    if (isNotModified(header('if-none-match'), versionedResponse(current).headers?.ETag ?? ''))
      throw apiError('ERR00412');
  } else if (ifMatch !== undefined) throw apiError('ERR00412');
}

/** The address of a search for the bookings that have not ended. */
function bookingsLink(kind: PlaceKind, id: string, link: MakeLink): Link {
  const filter = kind === 'bay' ? { bayIds: [id] } : { locationIds: [id] };
  return link('GET', `/api/bookings${writeQueryString({ ...filter, isActive: true })}`);
}

async function withImportErrors<Result>(result: Promise<Result>): Promise<Result> {
  return result.catch((error: unknown) => {
    throw error instanceof ImportError ? importError(error.errors) : error;
  });
}
