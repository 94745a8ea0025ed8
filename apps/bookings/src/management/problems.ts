// Defines the errors that only the management API returns, and converts the errors of an import to those of responses.
import { ApiError, type Problem } from '@bay-booking/common/errors';
import type { DocumentedError } from '@bay-booking/common/openapi';
import { badRequest, errorCatalogue, problemOf } from '../errors.ts';
import { pathOf } from '../import/document.ts';

const placeErrors = {
  PLACE00001: {
    status: 409,
    description: 'The place has bookings that have not ended.',
    appliesTo: ['deleteLocation', 'deleteBay'],
  },
  PLACE00002: { status: 409, description: 'The facility still has locations.', appliesTo: ['deleteFacility'] },
} as const satisfies Record<string, DocumentedError>;

export function placeError(code: keyof typeof placeErrors, contextData: Problem['contextData'] = {}): ApiError {
  const { status, description } = placeErrors[code];
  return new ApiError(status, [{ code, description, moreInfo: '', contextData }]);
}

const general = Object.entries<DocumentedError>(errorCatalogue).filter(
  ([code]) => /^ERR00(?:00[1-3]|4|5)/.test(code) && !['ERR00409', 'ERR00410', 'ERR00422'].includes(code),
);

export const managementErrors: Readonly<Record<string, DocumentedError>> = {
  ...Object.fromEntries(general),
  ...placeErrors,
};

/** A file of 10 MB can have an error in each of its fields. */
const maxErrors = 1_000;

export function importError(errors: readonly string[]): ApiError {
  return badRequest(errors.slice(0, maxErrors).map(problemOfImport));
}

/** `error` is a text such as `/facilities/0/name: is missing`. */
export function problemOfImport(error: string): Problem {
  const path = pathOf(error);
  const message = error.slice(path.length + 2);
  const pointer = path === '/' ? '' : path;
  const name = pointer.split('/').findLast((segment) => segment !== '' && !/^\d+$/.test(segment)) ?? 'body';
  const problem = problemOf(message === 'is missing' ? 'ERR00001' : 'ERR00002', { field: pointer });
  const template = message === 'is not known' ? "'{fieldName}' is not known." : problem.description;
  const moreInfo = message === 'is missing' ? '' : `${pointer || '/'}: ${message}`;
  return { ...problem, description: template.replace('{fieldName}', name), moreInfo };
}
