// Defines the errors that the Bookings API and the management APIs share.
import type { Endpoint, ValueDescription } from './endpoint.ts';
import type { DocumentedError } from './errors.ts';

type Headers = Readonly<Record<string, ValueDescription>>;

const text = { type: 'string' } as const;
export const retryAfterHeader: Headers = {
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: text },
};
const challenge: Headers = {
  'WWW-Authenticate': { description: 'A Bearer challenge (RFC 6750) or a DPoP challenge (RFC 9449).', schema: text },
};
const allow: Headers = { Allow: { description: 'The methods that the resource supports.', schema: text } };

export const hasPathParameter = ({ params }: Endpoint<never>): boolean => params !== undefined;
export const hasHeader =
  (name: string) =>
  ({ headers = {} }: Endpoint<never>): boolean =>
    name in headers;

export const generalErrors = {
  ERR00003: {
    status: 400,
    description: 'The request body must be a JSON object.',
    appliesTo: 'endpoints with a body',
  },
  ERR00401: {
    status: 401,
    description: 'A valid access token is required.',
    headers: challenge,
    appliesTo: 'every endpoint',
  },
  ERR00403: {
    status: 403,
    description: 'insufficient_scope: the token does not grant what this request needs.',
    headers: challenge,
    appliesTo: 'every endpoint',
  },
  ERR00405: {
    status: 405,
    description: 'The method is not allowed here.',
    headers: allow,
    appliesTo: 'every endpoint',
  },
  ERR00406: { status: 406, description: 'Only application/json can be answered.', appliesTo: 'every endpoint' },
  ERR00409: {
    status: 409,
    description: 'A request with the same Idempotency-Key is still being worked on.',
    headers: retryAfterHeader,
    appliesTo: [hasHeader('Idempotency-Key')],
  },
  ERR00415: {
    status: 415,
    description: 'The request body must be application/json in UTF-8.',
    appliesTo: 'endpoints with a body',
  },
  ERR00500: { status: 500, description: 'Something went wrong on our side.', appliesTo: 'every endpoint' },
  ERR00503: {
    status: 503,
    description: 'The service cannot answer at the moment.',
    headers: retryAfterHeader,
    appliesTo: 'every endpoint',
  },
} as const satisfies Readonly<Record<string, DocumentedError>>;
