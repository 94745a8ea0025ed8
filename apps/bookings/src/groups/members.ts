// Validates each booking of a request for a group like the body of POST /api/bookings.
import { formats } from '@bay-booking/common/date-times';
import { createValidator, type ValidationError } from '@bay-booking/common/validation';
import { findUnknownFields } from '@bay-booking/service/http/api/preferences';
import { withoutEmptyTexts } from '@bay-booking/service/http/request-body';
import type { CreateBody, DraftRequest } from '../bookings/drafts.ts';
import { type Booking, errorContextOf } from '../bookings/resource.ts';
import { bookingSchema, createBookingSchema, updateBookingSchema } from '../bookings/schema.ts';

type Fields = Readonly<Record<string, unknown>>;

const createValidation = createValidator(formats);
const validateNew = createValidation(createBookingSchema);
const validateUpdate = createValidation(updateBookingSchema);
const knownFields: ReadonlySet<string> = new Set(
  [createBookingSchema, bookingSchema].flatMap(({ properties }) => Object.keys(properties)),
);

/**
 * If `strict`, unknown fields are errors. An entry with the id of a booking in `existing` changes this booking.
 * `existing` is undefined if all entries are new bookings.
 */
export function memberOf(
  input: Fields,
  index: number,
  strict: boolean,
  existing?: ReadonlyMap<string, Booking>,
): DraftRequest {
  const { id: givenId, ...others } = withoutEmptyTexts(input);
  const hasId = existing !== undefined && givenId !== undefined;
  const given = hasId || givenId === undefined ? others : { ...others, id: givenId };
  const id = hasId ? String(givenId).toLowerCase() : undefined;
  const current = id === undefined ? undefined : existing?.get(id);
  const { value, validationErrors } = (hasId ? validateUpdate : validateNew)(given);
  const body = value as CreateBody;
  const unknownId: ValidationError = {
    field: 'id',
    kind: 'invalid',
    hint: 'must be the id of a booking in the group that has not ended',
  };
  const unknownErrors = strict ? findUnknownFields(Object.keys(given), knownFields) : [];
  const errors = [...(hasId && !current ? [unknownId] : []), ...validationErrors, ...unknownErrors];
  return {
    ...(id !== undefined && { id, current }),
    body,
    errors: errors.map((error) => ({ ...error, path: `bookings[${index}].${error.path ?? error.field}` })),
    context: { ...errorContextOf(current ?? body), index },
  };
}
