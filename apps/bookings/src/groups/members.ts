// Validates each booking of a request for a group like the body of POST /api/bookings.
import { createValidator, type ValidationError } from '@bay-booking/common/validation';
import type { CreateBody, DraftRequest } from '../bookings/drafts.ts';
import { errorContextOf } from '../bookings/resource.ts';
import { createBookingSchema } from '../bookings/schema.ts';
import { withoutEmptyTexts } from '../http/request-body.ts';
import { formats } from '../time/formats.ts';

type Fields = Readonly<Record<string, unknown>>;

const validate = createValidator(formats)(createBookingSchema);
/** A large request can have an unknown field in every place. */
const maxUnknownFields = 100;

/** If `strict`, unknown fields are errors. */
export function memberOf(input: Fields, index: number, strict: boolean): DraftRequest {
  const given = withoutEmptyTexts(input);
  const { value, validationErrors } = validate(given);
  const body = value as CreateBody;
  const isUnknown = (name: string) => !Object.hasOwn(createBookingSchema.properties, name);
  const unknown = strict ? Object.keys(given).filter(isUnknown).slice(0, maxUnknownFields) : [];
  const unknownErrors = unknown.map((field): ValidationError => ({ field, kind: 'unknown', hint: '' }));
  const errors = [...validationErrors, ...unknownErrors];
  return {
    body,
    errors: errors.map((error) => ({ ...error, path: `bookings[${index}].${error.path ?? error.field}` })),
    context: { ...errorContextOf(body), index },
  };
}
