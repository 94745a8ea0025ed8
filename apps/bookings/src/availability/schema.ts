// Defines the JSON Schemas of availability.
import { listEnvelopeSchema } from '@bay-booking/common/page';
import { defaultPageSizes, maxPageSize, pageQuerySchema } from '../http/pagination.ts';
import { idsSchema, textSchema } from '../http/text.ts';

const dateTime = { type: 'string', format: 'date-time' } as const;
const string = { type: 'string' } as const;

export const maxDays = 32;

export const availabilityQuerySchema = {
  type: 'object',
  required: ['startDate', 'endDate'],
  properties: {
    locationIds: idsSchema('Locations. Mandatory without bayIds. With bayIds, a bay must match both.'),
    bayIds: idsSchema('Bays. Mandatory without locationIds.'),
    startDate: { ...dateTime, description: 'Start of the interval.' },
    endDate: { ...dateTime, description: `End of the interval, at most ${maxDays} × 24 hours after the start.` },
    minMinutes: { type: 'integer', minimum: 1, maximum: 1440, description: 'Leaves out shorter gaps.' },
    holdId: { ...textSchema, description: 'A hold of the client. Its time counts as free.' },
    ...pageQuerySchema(defaultPageSizes.availability),
  },
} as const;

export const bayAvailabilitySchema = {
  type: 'object',
  required: ['bay', 'location', 'free', '_links'],
  additionalProperties: false,
  properties: {
    bay: {
      type: 'object',
      required: ['id', 'name', 'bookable'],
      additionalProperties: false,
      properties: { id: string, name: string, bookable: { type: 'boolean' } },
      description: 'A bay that is not bookable has no gaps.',
    },
    location: {
      type: 'object',
      required: ['id', 'name', 'facilityId', 'timeZone'],
      additionalProperties: false,
      properties: { id: string, name: string, facilityId: string, timeZone: string },
      description: 'The owning location.',
    },
    free: {
      type: 'array',
      items: {
        type: 'object',
        required: ['startDate', 'endDate'],
        additionalProperties: false,
        properties: { startDate: dateTime, endDate: dateTime },
      },
      description: 'The gaps, in order. Any interval inside a gap can be booked. A gap does not include its end.',
    },
    _links: { type: 'object', additionalProperties: false, description: 'Empty.' },
  },
} as const;

const envelope = listEnvelopeSchema(bayAvailabilitySchema, maxPageSize);

export const availabilitySchema = {
  ...envelope,
  required: [...envelope.required, 'asOf'],
  properties: { ...envelope.properties, asOf: { ...dateTime, description: 'When the bays were read.' } },
} as const;

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const availabilityComponents = {
  Availability: availabilitySchema,
  BayAvailability: bayAvailabilitySchema,
} as const;
