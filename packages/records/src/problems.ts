// Defines the errors of the management APIs and converts the problems of records to them.
import { ApiError, type Problem as ErrorRow } from '@bay-booking/common/errors';
import { generalErrors, hasHeader, hasPathParameter } from '@bay-booking/common/general-errors';
import type { DocumentedError } from '@bay-booking/common/openapi';
import type { ResultRow } from './import.ts';
import type { Problem } from './record.ts';

const { ERR00003, ERR00401, ERR00403, ERR00405, ERR00415, ERR00500, ERR00503 } = generalErrors;
const withBody = 'endpoints with a body';

export type Catalogue = Readonly<Record<string, DocumentedError>>;

/** Each service adds its own codes. */
const recordErrors = {
  ERR00001: { status: 400, description: "'{fieldName}' is mandatory.", appliesTo: withBody },
  ERR00002: { status: 400, description: "'{fieldName}' is invalid.", appliesTo: 'every endpoint' },
  ERR00003,
  ERR00401,
  ERR00403,
  ERR00404: { status: 404, description: 'Not found.', appliesTo: [hasPathParameter] },
  ERR00405,
  ERR00412: {
    status: 412,
    description: 'The resource was changed by somebody else, or exists already: a precondition failed.',
    appliesTo: [hasHeader('If-Match')],
  },
  ERR00413: { status: 413, description: 'The request body is too large.', appliesTo: withBody },
  ERR00415,
  ERR00422: {
    status: 422,
    description: 'The Idempotency-Key was used before with another request.',
    appliesTo: [hasHeader('Idempotency-Key')],
  },
  ERR00500,
  ERR00503,
} as const satisfies Catalogue;

/** A body of 50 MB can have an error in each of its fields. */
const maxErrors = 1_000;

/** The errors of one service: the general ones and `own`. */
export function createErrors(own: Catalogue) {
  const catalogue: Catalogue = { ...recordErrors, ...own };
  const statusOf = (code: string): number => catalogue[code]?.status ?? 400;
  const codeOf = ({ code, kind }: Problem): string => code ?? (kind === 'missing' ? 'ERR00001' : 'ERR00002');

  const row = (found: Problem): ErrorRow => {
    const { pointer, kind, hint, contextData } = found;
    const code = codeOf(found);
    const name = pointer.split('/').findLast((segment) => segment !== '' && !/^\d+$/.test(segment)) ?? 'body';
    const template = kind === 'unknown' ? "'{fieldName}' is not known." : (catalogue[code]?.description ?? '');
    return {
      code,
      description: template.replace('{fieldName}', name),
      moreInfo: hint && pointer !== '' ? `${pointer}: ${hint}` : hint,
      contextData: contextData ?? { field: pointer },
    };
  };

  return {
    catalogue,
    row,
    apiError: (
      code: string,
      {
        moreInfo = '',
        contextData = {},
        ...options
      }: Partial<ErrorRow> & ConstructorParameters<typeof ApiError>[2] = {},
    ): ApiError => {
      const description = catalogue[code]?.description ?? '';
      return new ApiError(statusOf(code), [{ code, description, moreInfo, contextData }], options);
    },
    /** If some problems have the status 400, it is the status of all. */
    problemsError: (problems: readonly Problem[]): ApiError => {
      const statuses = new Set(problems.map((found) => statusOf(codeOf(found))));
      const [status = 400] = statuses.size === 1 ? statuses : [400];
      return new ApiError(status, problems.slice(0, maxErrors).map(row));
    },
    /** The entries of an import's response. Their errors are limited too. */
    entries: (rows: readonly ResultRow[]) => {
      let left = maxErrors;
      return rows.map(({ path, action, problems }) => {
        const errors = problems.slice(0, Math.max(left, 1)).map(row);
        left -= errors.length;
        return { path, action, errors };
      });
    },
  };
}

export type ManagementErrors = ReturnType<typeof createErrors>;
