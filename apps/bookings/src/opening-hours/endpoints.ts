// Describes and handles the endpoints for opening hours (docs/behaviour.md, "Opening hours and closures").
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { isText, textSchema } from '@bay-booking/common/text';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import {
  defineEndpoint,
  deletionParts,
  type EndpointServices,
  itemSuccess,
  sharedHeaders,
} from '../http/endpoint-parts.ts';
import { checkResourceEtag, versionedResponse } from '../http/response.ts';
import { knownFields, type OpeningHours } from './hours.ts';
import { openingHoursSchema, setOpeningHoursSchema } from './schema.ts';
import type { HoursRow, OpeningHoursStore } from './store.ts';

const path = '/api/booking-locations/{id}/opening-hours';
const tag = 'Opening hours and closures';
const params = { id: { description: 'Location ID.', schema: textSchema, example: 'loc-north-1' } } as const;

const hoursExample: OpeningHours = {
  weekly: {
    monday: [{ opens: '07:00', closes: '22:00' }],
    friday: [{ opens: '07:00', closes: '02:00' }],
  },
  exceptions: [{ date: '2030-12-24', hours: [] }],
};

export function createOpeningHoursEndpoints({ store, link, audit }: EndpointServices & { store: OpeningHoursStore }) {
  const row = {
    facilityId: 'fac-north',
    locationId: 'loc-north-1',
    timeZone: 'Europe/Copenhagen',
    hours: hoursExample,
  };
  const success = itemSuccess('hours', openingHoursSchema, openingHoursResource(row, link));

  async function find(id: string, { facilities }: Caller): Promise<HoursRow> {
    // PostgreSQL cannot store some of the strings that `isText` rejects.
    const row = isText(id) ? await store.find(facilities, id) : undefined;
    if (!row) throw apiError('ERR00404');
    return row;
  }

  /** Stores the hours. Null: the location has no opening hours and is always open. */
  async function set(request: CallerRequest, row: HoursRow, hours: OpeningHours | null): Promise<HoursRow> {
    const ifMatch = request.header('if-match');
    await store.set(row, hours, (current) => checkResourceEtag(ifMatch, openingHoursResource(current, link)));
    const action = hours ? 'opening-hours.updated' : 'opening-hours.deleted';
    audit(request, { action, facilityIds: [row.facilityId], target: row.locationId });
    return { ...row, hours };
  }

  const responseOf = (row: HoursRow): EndpointResponse => versionedResponse(openingHoursResource(row, link));

  return [
    defineEndpoint({
      operationId: 'getOpeningHours',
      method: 'GET',
      access: 'read',
      path,
      tag,
      summary: 'Get the opening hours of a location',
      description: 'A location without opening hours is always open.',
      params,
      headers: sharedHeaders.ifNoneMatch,
      success,
      handle: async ({ params: { id = '' }, caller }) => responseOf(await find(id, caller)),
    }),
    defineEndpoint({
      operationId: 'setOpeningHours',
      method: 'PUT',
      access: 'schedule',
      path,
      tag,
      summary: 'Set the opening hours of a location',
      description:
        'Replaces the weekly hours and the exceptions. Existing bookings stay. If daylight saving skips a time, the ' +
        'instant after the gap counts. If a time occurs twice, the location opens at the first occurrence and closes ' +
        'at the second.',
      params,
      headers: sharedHeaders.ifMatch,
      body: setOpeningHoursSchema,
      bodyExample: hoursExample,
      success,
      handlesValidationErrors: true,
      handle: async (request) => {
        const { params, body, validationErrors, caller } = request;
        const row = await find(params.id ?? '', caller);
        const { weekly, exceptions = [] } = body as Partial<OpeningHours>;
        const errors = [...validationErrors, ...findRepeatedDates(exceptions)];
        // `weekly` is mandatory, so without it `errors` is not empty.
        if (!weekly || errors.length > 0) throw badRequest(problemsOf(errors));
        return responseOf(await set(request, row, knownFields({ weekly, exceptions })));
      },
    }),
    defineEndpoint({
      operationId: 'deleteOpeningHours',
      method: 'DELETE',
      access: 'schedule',
      path,
      tag,
      summary: 'Delete the opening hours of a location',
      description: 'The location is then always open. A location without opening hours stays as it is.',
      params,
      ...deletionParts,
      handle: async (request) => {
        await set(request, await find(request.params.id ?? '', request.caller), null);
        return { status: 204 };
      },
    }),
  ];
}

function openingHoursResource({ locationId, timeZone, hours }: HoursRow, link: MakeLink) {
  const href = path.replace('{id}', encodeURIComponent(locationId));
  return {
    locationId,
    timeZone,
    alwaysOpen: hours === null,
    ...(hours ? knownFields(hours) : { weekly: {}, exceptions: [] }),
    _links: { self: link('GET', href), edit: link('PUT', href), delete: link('DELETE', href) },
  };
}

function findRepeatedDates(exceptions: OpeningHours['exceptions']): ValidationError[] {
  const dates = new Set(exceptions.map(({ date }) => date));
  return dates.size === exceptions.length
    ? []
    : [{ field: 'exceptions', kind: 'invalid', hint: 'a date may occur once' }];
}
