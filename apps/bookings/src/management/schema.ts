// Defines the JSON Schemas of the management API. The import defines those of the entries.
import { linksSchema } from '@bay-booking/common/links';
import { listQuerySchema, listSchema } from '../http/pagination.ts';
import { dateTimeSchema, responseSchema, textSchema } from '../http/schemas.ts';
import { importSchema } from '../import/document.ts';

const { locations, ...facilityProperties } = importSchema.properties.facilities.items.properties;
const { bays, ...locationProperties } = locations.items.properties;
const bayProperties = bays.items.properties;

const facilityId = { ...textSchema, description: 'The facility of the location.' } as const;
const locationId = { ...textSchema, description: 'The location of the bay.' } as const;
const idOfAddress = { ...textSchema, description: 'The id of the address. May be left out.' } as const;

const facility = responseSchema(facilityProperties);
const location = responseSchema({ ...locationProperties, facilityId }, ['openingHours']);
const bay = responseSchema({ ...bayProperties, locationId });

const body = <const Properties extends object>(required: readonly string[], properties: Properties) =>
  ({
    type: 'object',
    required,
    additionalProperties: false,
    properties: { ...properties, id: idOfAddress },
  }) as const;

const byFacility = { facilityId: { ...textSchema, description: 'Facility ID.' } } as const;

/** Of each resource: the entry in responses, the list, its filters, and the body of PUT. */
export const placeSchemas = {
  facility: {
    entry: facility,
    list: listSchema(facility),
    query: listQuerySchema({}),
    body: body(['name', 'timeZone'], { ...facilityProperties, locations }),
  },
  location: {
    entry: location,
    list: listSchema(location),
    query: listQuerySchema(byFacility),
    body: body(['name', 'facilityId'], { ...locationProperties, facilityId, bays }),
  },
  bay: {
    entry: bay,
    list: listSchema(bay),
    query: listQuerySchema({ ...byFacility, locationId: { ...textSchema, description: 'Location ID.' } }),
    body: body(['name', 'locationId'], { ...bayProperties, locationId }),
  },
} as const;

const integer = { type: 'integer', minimum: 0 } as const;
const string = { type: 'string' } as const;

export const statusSchema = responseSchema({
  id: string,
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

export const importQuerySchema = {
  type: 'object',
  properties: { dryRun: { type: 'boolean', description: 'Whether nothing is imported.' } },
} as const;

export const importResultSchema = responseSchema({
  entries: {
    type: 'array',
    items: responseSchema({
      path: { type: 'string', description: 'The JSON Pointer of the record in the body.' },
      action: { enum: ['create', 'update', 'unchanged', 'error'] },
      errors: {
        type: 'array',
        description: 'Empty unless the action is error.',
        items: responseSchema({
          code: string,
          description: string,
          moreInfo: string,
          contextData: { type: 'object', properties: { field: string } },
        }),
      },
    }),
  },
});

export const defaultEventLimit = 100;
export const maxEventLimit = 1_000;

export const eventQuerySchema = {
  type: 'object',
  properties: {
    after: { ...integer, description: 'Returns the events after this number; 0 if left out.' },
    facilityId: { ...textSchema, description: 'Facility ID.' },
    account: { ...textSchema, description: 'No event of this service is about an account.' },
    action: { ...textSchema, description: 'Such as bay.updated.' },
    pageSize: {
      type: 'integer',
      minimum: 1,
      maximum: maxEventLimit,
      description: `Maximum number of items; ${defaultEventLimit} if left out.`,
    },
  },
} as const;

export const eventListSchema = responseSchema({
  items: {
    type: 'array',
    items: responseSchema({
      number: integer,
      at: dateTimeSchema,
      action: { type: 'string', description: 'Such as bay.updated.' },
      actor: responseSchema({ clientId: { type: 'string', description: 'The client, or import for the command.' } }),
      facilityId: string,
      target: { type: 'string', description: 'The path of the resource, such as bays/bay-n1-01.' },
      changed: { type: 'array', items: string, description: 'The names of the fields that changed.' },
    }),
  },
  last: { ...integer, description: 'The number of the last item, or the value of after without one.' },
  _links: linksSchema('self', 'next'),
});

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const managementComponents = {
  Facility: facility,
  Location: location,
  Bay: bay,
  PutFacility: placeSchemas.facility.body,
  PutLocation: placeSchemas.location.body,
  PutBay: placeSchemas.bay.body,
  ImportFile: importSchema,
  ImportResult: importResultSchema,
  FacilityStatus: statusSchema,
  Events: eventListSchema,
} as const;
