// Which errors does the API name, with which status and text? The catalogue of the specification ("Errors") and contract section 7.

import type { ValueDescription } from '@bay-booking/common/endpoint';
import { ApiError, type Problem } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';

interface Entry {
  readonly status: number;
  readonly description: string;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
}

const text = { type: 'string' } as const;
const retryAfter = { 'Retry-After': { description: 'Seconds to wait before the next try.', schema: text } };
const challenge = { 'WWW-Authenticate': { description: 'A Bearer challenge (RFC 6750).', schema: text } };

export const catalogue = {
  ERR00001: { status: 400, description: "'{fieldName}' is mandatory." },
  ERR00002: { status: 400, description: "'{fieldName}' is invalid." },
  ERR00003: { status: 400, description: 'The request body must be a JSON object.' },
  ERR00010: { status: 400, description: 'EndDate cannot be before StartDate.' },
  ERR00011: { status: 400, description: 'EndDate cannot be in the past.' },
  ERR00012: { status: 400, description: 'No bay found with the given id.' },
  BOOK00001: { status: 400, description: 'Another booking with the same external booking id already exists.' },
  BOOK00002: { status: 400, description: 'The booking time overlaps another booking.' },
  BOOK00003: { status: 400, description: 'The bay is not available for booking.' },
  ERR00400: { status: 400, description: 'The request is not valid HTTP.' },
  ERR00401: { status: 401, description: 'A valid access token is required.', headers: challenge },
  ERR00403: {
    status: 403,
    description: 'insufficient_scope: the token does not grant what this request needs.',
    headers: challenge,
  },
  ERR00404: { status: 404, description: 'Not found.' },
  ERR00405: {
    status: 405,
    description: 'The method is not allowed here.',
    headers: { Allow: { description: 'The methods that are.', schema: text } },
  },
  ERR00406: { status: 406, description: 'Only application/json can be answered.' },
  ERR00408: { status: 408, description: 'The request did not arrive in time.' },
  ERR00409: {
    status: 409,
    description: 'A request with the same Idempotency-Key is still being worked on.',
    headers: retryAfter,
  },
  ERR00412: {
    status: 412,
    description: 'The booking was changed by somebody else: If-Match does not name its current ETag.',
  },
  ERR00413: { status: 413, description: 'The request body is larger than 100 kB.' },
  ERR00415: { status: 415, description: 'The request body must be application/json in UTF-8.' },
  ERR00422: { status: 422, description: 'The Idempotency-Key was used before with another request body.' },
  ERR00429: { status: 429, description: 'Too many requests.', headers: retryAfter },
  ERR00431: { status: 431, description: 'The header of the request is larger than 128 kB.' },
  ERR00500: { status: 500, description: 'Something went wrong on our side.' },
  ERR00503: { status: 503, description: 'The service cannot answer at the moment.', headers: retryAfter },
} as const satisfies Record<string, Entry>;

export type Code = keyof typeof catalogue;
type Context = Readonly<Record<string, unknown>>;

export function problemOf(code: Code, context: Context = {}, moreInfo = '', fieldName = ''): Problem {
  const description = catalogue[code].description.replace('{fieldName}', fieldName);
  return { code, description, moreInfo, contextData: context };
}

/** The failure of one code, with its status. */
export function apiError(
  code: Code,
  options: { context?: Context; moreInfo?: string; headers?: Record<string, string>; cause?: unknown } = {},
): ApiError {
  const { context, moreInfo, headers = {}, cause } = options;
  return new ApiError(catalogue[code].status, [problemOf(code, context, moreInfo)], { headers, cause });
}

/** 503 with the advice to come back soon. */
export function unavailable(cause: unknown, seconds = 1): ApiError {
  return apiError('ERR00503', { headers: { 'Retry-After': String(seconds) }, cause });
}

export function problemsOf(validationErrors: readonly ValidationError[], context: Context = {}): Problem[] {
  return validationErrors.map(({ field, kind, hint }) =>
    problemOf(kind === 'missing' ? 'ERR00001' : 'ERR00002', context, hint && `${field}: ${hint}`, field),
  );
}

/** 400 with every fault, in the order of the catalogue. */
export function badRequest(problems: readonly Problem[]): ApiError {
  const order = Object.keys(catalogue);
  return new ApiError(
    400,
    problems.toSorted((a, b) => order.indexOf(a.code) - order.indexOf(b.code)),
  );
}
