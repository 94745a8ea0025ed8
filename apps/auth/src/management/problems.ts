// Defines the error codes of the management API, and converts the errors of an import to those of responses.
import type { Endpoint, ValueDescription } from '@bay-booking/common/endpoint';
import { ApiError, type Problem } from '@bay-booking/common/errors';
import type { DocumentedError } from '@bay-booking/common/openapi';

const text = { type: 'string' } as const;
const challenge = { 'WWW-Authenticate': { description: 'A Bearer or DPoP challenge.', schema: text } };
const retryAfter = { 'Retry-After': { description: 'Seconds to wait before the next try.', schema: text } };
const allow: Readonly<Record<string, ValueDescription>> = {
  Allow: { description: 'The methods that the resource supports.', schema: text },
};
const hasPathParameter = ({ params }: Endpoint<never>): boolean => params !== undefined;
const hasInput = ({ query, body }: Endpoint<never>): boolean => Boolean(query ?? body);
const hasIfMatch = ({ headers = {} }: Endpoint<never>): boolean => 'If-Match' in headers;

export const errorCatalogue = {
  ERR00001: { status: 400, description: "'{fieldName}' is mandatory.", appliesTo: 'endpoints with a body' },
  ERR00002: { status: 400, description: "'{fieldName}' is invalid.", appliesTo: [hasInput] },
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
  ERR00404: { status: 404, description: 'Not found.', appliesTo: [hasPathParameter] },
  ERR00405: {
    status: 405,
    description: 'The method is not allowed here.',
    headers: allow,
    appliesTo: 'every endpoint',
  },
  ERR00412: {
    status: 412,
    description: 'The resource was changed by somebody else: If-Match does not name its current ETag.',
    appliesTo: [hasIfMatch],
  },
  ERR00413: { status: 413, description: 'The request body is too large.', appliesTo: 'endpoints with a body' },
  ERR00415: {
    status: 415,
    description: 'The request body must be application/json in UTF-8.',
    appliesTo: 'endpoints with a body',
  },
  ERR00429: {
    status: 429,
    description: 'Too many requests.',
    headers: retryAfter,
    appliesTo: ['inviteOwner'],
  },
  ERR00500: { status: 500, description: 'Something went wrong on our side.', appliesTo: 'every endpoint' },
  ERR00503: {
    status: 503,
    description: 'The service cannot answer at the moment.',
    headers: retryAfter,
    appliesTo: 'every endpoint',
  },
  MEMBER00001: {
    status: 409,
    description: 'A facility would have no owner.',
    appliesTo: ['putAccount', 'deleteAccount'],
  },
  MEMBER00002: { status: 409, description: 'The facility still has members.', appliesTo: ['deleteFacility'] },
  MEMBER00003: {
    status: 409,
    description: 'The address cannot be invited as owner.',
    appliesTo: ['inviteOwner'],
  },
  ACCOUNT00001: {
    status: 409,
    description: 'The account is disabled or has no e-mail address.',
    appliesTo: ['sendPasswordReset'],
  },
  CLIENT00001: { status: 409, description: 'The client has no secret.', appliesTo: ['rotateClientSecret'] },
} as const satisfies Record<string, DocumentedError>;

export type ErrorCode = keyof typeof errorCatalogue;

export interface ProblemOptions {
  readonly moreInfo?: string;
  readonly field?: string;
  readonly headers?: Record<string, string>;
  readonly cause?: unknown;
}

const problemOf = (code: ErrorCode, { moreInfo = '', field }: ProblemOptions = {}): Problem => ({
  code,
  description: errorCatalogue[code].description,
  moreInfo,
  contextData: field === undefined ? {} : { field },
});

export const apiError = (code: ErrorCode, options: ProblemOptions = {}): ApiError =>
  new ApiError(errorCatalogue[code].status, [problemOf(code, options)], {
    headers: options.headers ?? {},
    cause: options.cause,
  });

/** A file of 10 MB can have an error in each of its fields. */
const maxErrors = 1_000;

/** `errors` are texts such as `/accounts/0/name: must be string`. */
export const importError = (errors: readonly string[]): ApiError =>
  new ApiError(400, errors.slice(0, maxErrors).map(problemOfImport));

export const pathOf = (error: string): string => error.slice(0, error.indexOf(': '));

export function problemOfImport(error: string): Problem {
  const path = pathOf(error);
  const field = path === '/' ? '' : path;
  const message = error.slice(path.length + 2);
  const name = field.split('/').findLast((segment) => segment !== '' && !/^\d+$/.test(segment)) ?? 'body';
  const isMissing = message === 'is missing';
  const moreInfo = isMissing ? '' : `${path}: ${message}`;
  const problem = problemOf(isMissing ? 'ERR00001' : 'ERR00002', { field, moreInfo });
  const template = message === 'is not known' ? "'{fieldName}' is not known." : problem.description;
  return { ...problem, description: template.replace('{fieldName}', name) };
}
