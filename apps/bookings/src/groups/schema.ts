// Defines the JSON Schemas of groups and of the requests for groups.
import { namedSchema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import { anyText } from '@bay-booking/common/text';
import { bookingSchema, createBookingSchema } from '../bookings/booking.ts';

/** All bookings of a group are written in one transaction. */
export const maxBookings = 200;

const bookings = {
  type: 'array',
  minItems: 1,
  maxItems: maxBookings,
  description: 'Bookings of one facility.',
} as const;
const dryRun = { type: 'boolean', description: 'true: reports the errors, and books nothing.' } as const;

export const createGroupSchema = {
  title: 'CreateBookingGroup',
  type: 'object',
  required: ['bookings'],
  properties: { bookings: { ...bookings, items: createBookingSchema }, dryRun },
} as const;

export const replaceGroupSchema = {
  ...createGroupSchema,
  title: 'ReplaceBookingGroup',
  properties: {
    bookings: {
      ...bookings,
      items: {
        type: 'object',
        required: createBookingSchema.required,
        properties: {
          id: { type: 'string', format: 'uuid', description: 'A booking of the group, which the entry changes.' },
          ...createBookingSchema.properties,
        },
      },
    },
    dryRun,
  },
} as const;

/** Each booking is validated by itself (members.ts), so that its errors have its index. */
export const groupRequestSchema = {
  ...createGroupSchema,
  properties: { bookings: { ...bookings, [anyText]: true }, dryRun },
} as const;

export const groupSchema = namedSchema('BookingGroup', {
  id: { type: 'string', format: 'uuid', description: 'Group ID.' },
  bookings: { type: 'array', items: bookingSchema, description: 'The bookings of the group as they are now.' },
  _links: linksSchema('self', 'delete'),
});

export const dryRunSchema = namedSchema('BookingGroupDryRun', {
  bookings: { type: 'array', items: bookingSchema, maxItems: 0, description: 'Empty: nothing is booked.' },
});
