// Defines the errors of the management APIs.
import { createErrors, type DocumentedError } from '@bay-booking/common/errors';
import { generalErrors, hasHeader, hasPathParameter } from '@bay-booking/common/general-errors';

const { ERR00003, ERR00401, ERR00403, ERR00405, ERR00406, ERR00409, ERR00415, ERR00500, ERR00503 } = generalErrors;
const withBody = 'endpoints with a body';

type Catalogue = Readonly<Record<string, DocumentedError>>;

/** Each service adds its own codes. */
const recordErrors = {
  ERR00001: { status: 400, description: "'{fieldName}' is mandatory.", appliesTo: withBody },
  ERR00002: { status: 400, description: "'{fieldName}' is invalid.", appliesTo: 'every endpoint' },
  ERR00003,
  ERR00401,
  ERR00403,
  ERR00404: { status: 404, description: 'Not found.', appliesTo: [hasPathParameter] },
  ERR00405,
  ERR00406,
  ERR00409,
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

/** The errors of one service: the general ones and `own`. */
export const createManagementErrors = <const Own extends Catalogue>(own: Own) =>
  createErrors({ ...recordErrors, ...own }, { form: 'pointer' });

export type ManagementErrors = ReturnType<typeof createManagementErrors<Record<never, never>>>;
