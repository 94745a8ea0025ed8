// Defines the JSON Schemas of locations and bays, and of the query parameters of their lists.
import { linksSchema } from '@bay-booking/common/links';
import { listEnvelopeSchema } from '@bay-booking/common/page';
import { defaultPageSizes, maxPageSize, pageQuerySchema } from '../http/pagination.ts';
import { idsSchema, textSchema } from '../http/text.ts';

export const locationSchema = {
  type: 'object',
  required: ['id', 'name', '_links'],
  additionalProperties: false,
  properties: {
    id: { ...textSchema, description: 'Location ID.' },
    name: { type: 'string', description: 'Location name.' },
    _links: linksSchema('self', 'bays'),
  },
} as const;

export const baySchema = {
  type: 'object',
  required: ['id', 'name', 'description', 'kind', 'location', '_links'],
  additionalProperties: false,
  properties: {
    id: { ...textSchema, description: 'Bay ID.' },
    name: { type: 'string', description: 'Bay name.' },
    description: { type: 'string', description: 'Bay description.' },
    kind: { type: 'string', description: 'The kind of the bays, for example RangeBay.' },
    location: {
      type: 'object',
      required: ['id', 'name'],
      additionalProperties: false,
      properties: { id: { type: 'string' }, name: { type: 'string' } },
      description: 'The owning location.',
    },
    _links: { type: 'object', additionalProperties: false, description: 'Empty.' },
  },
} as const;

export const locationListSchema = listEnvelopeSchema(locationSchema, maxPageSize);
export const bayListSchema = listEnvelopeSchema(baySchema, maxPageSize);

export const locationQuerySchema = {
  type: 'object',
  properties: {
    ids: idsSchema('Location IDs.'),
    facilityIds: idsSchema('Facility IDs.'),
    ...pageQuerySchema(defaultPageSizes.locations),
  },
} as const;

export const bayQuerySchema = {
  type: 'object',
  properties: {
    locationId: { ...textSchema, description: "The location ID; without it, every bay of the token's facilities." },
    ...pageQuerySchema(defaultPageSizes.bays),
  },
} as const;

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const placeComponents = {
  BookingLocation: locationSchema,
  BookingLocationList: locationListSchema,
  BookingBay: baySchema,
  BookingBayList: bayListSchema,
} as const;
