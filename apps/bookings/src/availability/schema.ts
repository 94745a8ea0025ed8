// Defines the JSON Schemas of availability.
import { textSchema } from '@bay-booking/common/text';
import { defaultPageSizes, listQuerySchema, listSchema } from '../http/pagination.ts';
import { dateTimeSchema as dateTime, idsSchema, noLinksSchema, responseSchema } from '../http/schemas.ts';

const string = { type: 'string' } as const;

/** The maximum length of a search interval. */
export const maxDays = 32;

export const availabilityQuerySchema = {
  ...listQuerySchema(
    {
      locationIds: idsSchema('Locations. Mandatory without bayIds. With bayIds, a bay must match both.'),
      bayIds: idsSchema('Bays. Mandatory without locationIds.'),
      startDate: { ...dateTime, description: 'Start of the interval.' },
      endDate: { ...dateTime, description: `End of the interval, at most ${maxDays} × 24 hours after the start.` },
      minMinutes: { type: 'integer', minimum: 1, maximum: 1440, description: 'Leaves out shorter gaps.' },
      holdId: { ...textSchema, description: 'A hold of the client. Its time counts as free.' },
    },
    defaultPageSizes.availability,
  ),
  required: ['startDate', 'endDate'],
} as const;

const freeTimeSchema = responseSchema({ startDate: dateTime, endDate: dateTime });

export const bayAvailabilitySchema = responseSchema({
  bay: {
    ...responseSchema({ id: string, name: string, bookable: { type: 'boolean' } }),
    description: 'A bay that is not bookable has no gaps.',
  },
  location: {
    ...responseSchema({ id: string, name: string, facilityId: string, timeZone: string }),
    description: 'The owning location.',
  },
  free: {
    type: 'array',
    items: freeTimeSchema,
    description: 'The gaps, in order. Any interval inside a gap can be booked. A gap does not include its end.',
  },
  _links: noLinksSchema,
});

const envelope = listSchema(bayAvailabilitySchema);

export const availabilitySchema = {
  ...envelope,
  required: [...envelope.required, 'asOf'],
  properties: { ...envelope.properties, asOf: { ...dateTime, description: 'When the bays were read.' } },
} as const;

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const availabilityComponents = {
  Availability: availabilitySchema,
  BayAvailability: bayAvailabilitySchema,
  FreeTime: freeTimeSchema,
} as const;
