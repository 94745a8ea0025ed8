// Validates each booking of a request for a group like the body of POST /api/bookings.
import { formats } from '@bay-booking/common/date-times';
import { createValidator, isObject, type ValidationError } from '@bay-booking/common/validation';
import { withoutEmptyTexts } from '@bay-booking/service/http/api/input';
import { findUnknownFields } from '@bay-booking/service/http/api/preferences';
import {
  type Booking,
  type BookingRequest,
  bookingSchema,
  createBookingSchema,
  updateBookingSchema,
} from '../bookings/booking.ts';

const createValidation = createValidator(formats);
const validateNew = createValidation(createBookingSchema);
const validateUpdate = createValidation(updateBookingSchema);
const knownFields: ReadonlySet<string> = new Set(
  [createBookingSchema, bookingSchema].flatMap(({ properties }) => Object.keys(properties)),
);

/** Returns the entries of a request that replaces a group. `existing` has the bookings that an entry can change. */
export function requestsOfMembers(inputs: readonly unknown[], strict: boolean, existing: ReadonlyMap<string, Booking>) {
  const members = inputs.map((input, index) => memberOf(input, index, strict, existing));
  const ids = members.map(({ id }) => id);
  return members.map((member, index) => {
    const isRepeated = member.id !== undefined && ids.indexOf(member.id) < index;
    return isRepeated ? { ...member, errors: [...member.errors, invalidId(index, 'is named twice')] } : member;
  });
}

/** If `strict`, unknown fields are errors. `existing` is undefined if all entries are new bookings. */
export function memberOf(
  input: unknown,
  index: number,
  strict: boolean,
  existing?: ReadonlyMap<string, Booking>,
): BookingRequest {
  const path = `bookings[${index}]`;
  if (!isObject(input))
    return { body: {}, errors: [{ field: 'bookings', kind: 'invalid', hint: 'must be object', path }], index };
  const { id: _id, ...others } = withoutEmptyTexts(input);
  // An empty id is not the id of a booking.
  const { id: givenId } = input;
  const hasId = existing !== undefined && givenId !== undefined;
  const given = hasId || givenId === undefined ? others : { ...others, id: givenId };
  const id = hasId ? String(givenId).toLowerCase() : undefined;
  const current = id === undefined ? undefined : existing?.get(id);
  const { value, validationErrors } = (hasId ? validateUpdate : validateNew)(given);
  const unknownErrors = strict ? findUnknownFields(Object.keys(given), knownFields) : [];
  const fieldErrors = [...validationErrors, ...unknownErrors].map((error) => ({
    ...error,
    path: `${path}.${error.path ?? error.field}`,
  }));
  const unknownId = invalidId(index, 'must be the id of a booking in the group that has not ended');
  return {
    ...(id !== undefined && { id, current }),
    body: value as BookingRequest['body'],
    errors: [...(hasId && !current ? [unknownId] : []), ...fieldErrors],
    index,
  };
}

const invalidId = (index: number, hint: string): ValidationError => ({
  field: 'id',
  kind: 'invalid',
  hint,
  path: `bookings[${index}].id`,
});
