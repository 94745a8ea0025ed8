// Defines the JSON Schemas of the history.
import { textSchema } from '@bay-booking/common/text';

import { actorSchema } from '../../http/endpoint-parts.ts';
import { defaultPageSizes, listQuerySchema, listSchema } from '../../http/pagination.ts';
import { dateTimeSchema as dateTime, idsSchema, responseSchema } from '../../http/schemas.ts';
import { changeActions } from '../log.ts';

const action = { type: 'string', enum: changeActions } as const;

const changedFieldSchema = responseSchema({
  from: { description: 'The value before the change. Null if there was none.' },
  to: { description: 'The value after the change. Null if there is none.' },
});

const entryFields = {
  version: { type: 'integer', minimum: 1, description: 'The version of the booking after the change.' },
  action: { ...action, description: 'What was done.' },
  at: { ...dateTime, description: 'When it was done, UTC.' },
  actor: actorSchema,
  requestId: { type: ['string', 'null'], description: 'The X-Request-Id of the request.' },
  changes: {
    type: 'object',
    additionalProperties: changedFieldSchema,
    description: 'The fields that the change has set, by their names in a booking.',
  },
} as const;

export const bookingHistoryQuerySchema = listQuerySchema({}, defaultPageSizes.history);

export const historyQuerySchema = listQuerySchema(
  {
    facilityId: { ...textSchema, description: 'Mandatory if the token names several facilities.' },
    bayIds: idsSchema('Bays where the bookings were before or after the change.'),
    startDate: {
      ...dateTime,
      description:
        'Selects changes of bookings that overlapped the interval before or after the change. ' +
        'One date alone leaves it open at the other end.',
    },
    endDate: { ...dateTime, description: 'See startDate.' },
    subject: { ...textSchema, description: 'The subject of the actor.' },
    clientId: { ...textSchema, description: 'The client of the actor.' },
    action: { ...action, description: 'What was done.' },
  },
  defaultPageSizes.history,
);

const bookingEntrySchema = responseSchema(entryFields);
const facilityEntrySchema = responseSchema({
  bookingId: { type: 'string', format: 'uuid', description: 'Booking ID.' },
  facilityId: { type: 'string', description: 'The facility of the booking.' },
  ...entryFields,
});

export const bookingHistorySchema = listSchema(bookingEntrySchema);
export const historySchema = listSchema(facilityEntrySchema);

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const historyComponents = {
  Actor: actorSchema,
  ChangedField: changedFieldSchema,
  BookingHistoryEntry: bookingEntrySchema,
  BookingHistory: bookingHistorySchema,
  HistoryEntry: facilityEntrySchema,
  History: historySchema,
} as const;
