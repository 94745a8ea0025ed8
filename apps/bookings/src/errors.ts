// Defines the error codes of the API and selects the endpoints that can return each error (specification, "Errors").
import type { Endpoint } from '@bay-booking/common/endpoint';
import { createErrors, type DocumentedError } from '@bay-booking/common/errors';
import { generalErrors, hasHeader, hasPathParameter, retryAfterHeader } from '@bay-booking/common/general-errors';

// Conditions that select the endpoints which can return an error.
const hasInput = ({ query, body }: Endpoint<never>): boolean => Boolean(query ?? body);
const hasMandatoryInput = ({ query, body }: Endpoint<never>): boolean => Boolean(query?.required ?? body?.required);
const hasMandatoryDates = ({ query, body }: Endpoint<never>): boolean =>
  [query?.required, body?.required].some(
    (names) => Array.isArray(names) && ['startDate', 'endDate'].every((name) => names.includes(name)),
  );

/** The endpoints that reserve a bay for a time. They apply the same rules. */
const reservations = ['createBooking', 'updateBooking', 'createHold', 'createBookingGroup', 'replaceBookingGroup'];

/**
 * Every error code. `appliesTo` selects the endpoints that can return it: a group of endpoints, or a list of operation
 * ids and conditions.
 */
export const errorCatalogue = {
  // Some parameters are mandatory only in some requests.
  ERR00001: {
    status: 400,
    description: "'{fieldName}' is mandatory.",
    appliesTo: [hasMandatoryInput, 'searchBookings', 'listBookingChanges', 'listHistory'],
  },
  ERR00002: { status: 400, description: "'{fieldName}' is invalid.", appliesTo: [hasInput] },
  ERR00003: generalErrors.ERR00003,
  ERR00010: {
    status: 400,
    description: 'EndDate cannot be before StartDate.',
    field: 'endDate',
    appliesTo: [hasMandatoryDates, 'createBookingGroup', 'replaceBookingGroup'],
  },
  ERR00011: {
    status: 400,
    description: 'EndDate cannot be in the past.',
    field: 'endDate',
    appliesTo: reservations,
  },
  ERR00012: {
    status: 400,
    description: 'No bay found with the given id.',
    field: 'bayId',
    appliesTo: [...reservations, 'createClosure', 'updateClosure'],
  },
  BOOK00001: {
    status: 400,
    description: 'Another booking with the same external booking id already exists.',
    appliesTo: ['createBooking', 'createBookingGroup', 'replaceBookingGroup'],
  },
  BOOK00002: { status: 400, description: 'The booking time overlaps another booking.', appliesTo: reservations },
  BOOK00003: { status: 400, description: 'The bay is not available for booking.', appliesTo: reservations },
  BOOK00004: { status: 400, description: 'The client has too many holds.', appliesTo: ['createHold'] },
  CLOS00001: {
    status: 400,
    description: 'A facility can have 1000 closures at most that have not ended.',
    appliesTo: ['createClosure', 'updateClosure'],
  },
  HOOK00001: {
    status: 400,
    description: 'An owner can have 20 webhooks at a facility at most.',
    appliesTo: ['createWebhook', 'updateWebhook'],
  },
  ERR00400: { status: 400, description: 'The request is not valid HTTP.', appliesTo: 'every endpoint' },
  ERR00401: generalErrors.ERR00401,
  ERR00403: generalErrors.ERR00403,
  // createHold returns this error if holds are switched off (HOLDS_PER_OWNER).
  ERR00404: { status: 404, description: 'Not found.', appliesTo: [hasPathParameter, 'createHold'] },
  ERR00405: generalErrors.ERR00405,
  ERR00406: generalErrors.ERR00406,
  ERR00408: { status: 408, description: 'The request did not arrive in time.', appliesTo: 'every endpoint' },
  ERR00409: generalErrors.ERR00409,
  ERR00410: {
    status: 410,
    description: 'Changes after this number are no longer available: start from the beginning.',
    appliesTo: ['listBookingChanges', 'replayWebhook'],
  },
  ERR00412: {
    status: 412,
    description: 'The resource was changed by somebody else: If-Match does not name its current ETag.',
    appliesTo: [hasHeader('If-Match')],
  },
  ERR00413: {
    status: 413,
    description: 'The request body is larger than 100 kB.',
    appliesTo: 'endpoints with a body',
  },
  ERR00415: generalErrors.ERR00415,
  ERR00422: {
    status: 422,
    description: 'The Idempotency-Key was used before with another request body.',
    appliesTo: [hasHeader('Idempotency-Key')],
  },
  ERR00429: { status: 429, description: 'Too many requests.', headers: retryAfterHeader, appliesTo: 'every endpoint' },
  ERR00431: {
    status: 431,
    description: 'The header of the request is larger than 128 kB.',
    appliesTo: 'every endpoint',
  },
  ERR00500: generalErrors.ERR00500,
  ERR00503: generalErrors.ERR00503,
} as const satisfies Record<string, DocumentedError>;

export type ErrorCode = keyof typeof errorCatalogue;

export const errors = createErrors(errorCatalogue, { form: 'path' });
export const { apiError, badRequest, problemOf, problemsOf, tooManyRequests, unavailable } = errors;
