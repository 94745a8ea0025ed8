// Defines the JSON Schemas of the change feed.
import type { Schema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import { actorSchema } from '../../http/endpoint-parts.ts';

const maxFeedLimit = 1000;
export const defaultFeedLimit = 500;

const nonNegativeInteger = { type: 'integer', minimum: 0 } as const;

export const feedQuerySchema = {
  type: 'object',
  properties: {
    facilityId: { ...textSchema, description: 'Mandatory if the token names several facilities.' },
    afterChangeNumber: { ...nonNegativeInteger, description: 'Returns the changes after this number; 0 if left out.' },
    // For a client that has just read the bookings with a search.
    latest: {
      type: 'boolean',
      description: 'If true, the page is empty, and its link "next" returns only later changes.',
    },
    // A parameter of the link `next`. Old deletions are removed from the feed. For a client that reads the whole feed,
    // the value is the highest change number that had been removed when the client read its first page. For other
    // clients, the value is 0.
    removed: {
      ...nonNegativeInteger,
      description:
        'Copy it from the link "next". If changes that you have not read were removed, the response is ERR00410.',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: maxFeedLimit,
      description: `Maximum number of items; ${defaultFeedLimit} if left out.`,
    },
  },
} as const;

const changeFields = {
  kind: { const: 'Booking' },
  id: { type: 'string', format: 'uuid', description: 'Booking ID.' },
  modified: { ...nonNegativeInteger, description: 'The change number, unique within the facility.' },
  actor: actorSchema,
} as const;

const deletedSchema = {
  type: 'object',
  required: ['state', 'kind', 'id', 'modified', 'actor'],
  additionalProperties: false,
  properties: { state: { const: 'deleted' }, ...changeFields },
} as const;

/** Returns the schemas of the feed, by their name in the OpenAPI document. `bookingItem` is a booking in a list. */
export function changeComponents(bookingItem: Schema) {
  const updatedSchema = {
    type: 'object',
    required: ['state', 'kind', 'id', 'modified', 'actor', 'data'],
    additionalProperties: false,
    properties: { state: { const: 'updated' }, ...changeFields, data: bookingItem },
  } as const;
  const changeSchema = { oneOf: [updatedSchema, deletedSchema] } as const;
  const listSchema = {
    type: 'object',
    required: ['items', 'next', '_links'],
    additionalProperties: false,
    properties: {
      items: { type: 'array', items: changeSchema },
      next: { type: 'string', format: 'uri', description: 'The address of the next page.' },
      _links: linksSchema('self', 'next'),
    },
  } as const;
  return {
    BookingChangeList: listSchema,
    BookingChange: changeSchema,
    BookingChangeUpdated: updatedSchema,
    BookingChangeDeleted: deletedSchema,
  };
}
