// Defines the JSON Schemas of holds and of the requests for holds.
import { linksSchema } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import { dateTimeSchema as dateTime, responseSchema } from '../http/schemas.ts';
import { holdSeconds } from './hold.ts';

const seconds = { type: 'integer', minimum: holdSeconds.min, maximum: holdSeconds.max } as const;

export const createHoldSchema = {
  type: 'object',
  required: ['bayId', 'startDate', 'endDate'],
  properties: {
    bayId: { ...textSchema, description: 'Bay to hold.' },
    startDate: { ...dateTime, description: 'Start, with a zone; digits beyond milliseconds are cut.' },
    endDate: { ...dateTime, description: 'End, not before the start and not in the past.' },
    holdSeconds: { ...seconds, description: `How long to hold the bay; ${holdSeconds.default} if left out.` },
    correlationId: { ...textSchema, description: 'Groups bookings of one user session.' },
  },
} as const;

export const extendHoldSchema = {
  type: 'object',
  required: ['holdSeconds'],
  properties: {
    holdSeconds: { ...seconds, description: 'Counts from now. A hold lasts 30 minutes in total at most.' },
  },
} as const;

export const holdSchema = responseSchema(
  {
    id: { type: 'string', format: 'uuid', description: 'Hold ID.' },
    bayId: { type: 'string', description: 'ID of the bay.' },
    startDate: { ...dateTime, description: 'Start, UTC.' },
    endDate: { ...dateTime, description: 'End, UTC.' },
    expiresAt: { ...dateTime, description: 'When the hold ends by itself, UTC.' },
    createdAt: { ...dateTime, description: 'Creation timestamp, UTC.' },
    correlationId: { ...textSchema, description: 'Left out where the client gave none.' },
    _links: linksSchema('self', 'edit', 'delete', 'book'),
  },
  // The properties that can be left out.
  ['correlationId'],
);

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const holdComponents = {
  Hold: holdSchema,
  CreateHold: createHoldSchema,
  ExtendHold: extendHoldSchema,
} as const;
