// Defines the JSON Schemas of erasures.
import { textSchema } from '@bay-booking/common/text';
import { idsSchema, responseSchema } from '../http/schemas.ts';

export const maxErasedBookings = 500;

export const eraseBookingsSchema = {
  type: 'object',
  properties: {
    ids: idsSchema('Booking IDs. Exactly one of ids and userAlias is needed.'),
    userAlias: { ...textSchema, description: 'Every booking that has or had exactly this alias.' },
    dryRun: { type: 'boolean', description: 'true: only counts the bookings.' },
  },
} as const;

export const erasureSchema = responseSchema({
  bookings: { type: 'integer', minimum: 0, description: 'The number of bookings that were changed.' },
});

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const erasureComponents = { EraseBookings: eraseBookingsSchema, Erasure: erasureSchema } as const;
