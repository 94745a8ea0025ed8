// Defines the error envelope, the body of every error response (specification, "Error envelope"), and creates errors
// from the catalogue of an API.
import { type Endpoint, responseSchema, type ValueDescription } from './endpoint.ts';
import type { ValidationError } from './validation.ts';

export interface ApiProblem {
  readonly code: string;
  readonly description: string;
  readonly moreInfo: string;
  readonly contextData: Readonly<Record<string, unknown>>;
}

/** `message` and `cause` appear only in the log. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly problems: readonly ApiProblem[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    problems: readonly ApiProblem[],
    options: { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(problems.map(({ code, description }) => `${code} ${description}`).join('; '), { cause: options.cause });
    this.status = status;
    this.problems = problems;
    this.headers = options.headers ?? {};
  }
}

/** An operation id selects one endpoint. A function selects every endpoint for which it returns true. */
type EndpointSelector = string | ((endpoint: Endpoint<never>) => boolean);

export interface DocumentedError {
  readonly status: number;
  readonly description: string;
  /** The value of `contextData.field`, if all errors with this code are about one field. */
  readonly field?: string;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
  /** Selects the endpoints whose `x-errorCodes` list this error. */
  readonly appliesTo: 'every endpoint' | 'endpoints with a body' | readonly EndpointSelector[];
}

type ContextData = Readonly<Record<string, unknown>>;

export interface ErrorOptions {
  readonly context?: ContextData;
  /** Replaces that of the catalogue. */
  readonly description?: string;
  readonly moreInfo?: string;
  readonly headers?: Record<string, string>;
  readonly cause?: unknown;
}

/** The codes that the router uses. Every catalogue has them. */
type RouterCode = 'ERR00003' | 'ERR00404' | 'ERR00405' | 'ERR00406' | 'ERR00413' | 'ERR00415' | 'ERR00500';

/** What the router needs of the errors of an API. */
export interface ApiErrors {
  readonly apiError: (code: RouterCode, options?: ErrorOptions) => ApiError;
  readonly problemsOf: (validationErrors: readonly ValidationError[], contextData?: ContextData) => ApiProblem[];
  readonly badRequest: (problems: readonly ApiProblem[]) => ApiError;
  readonly unavailable: (cause: unknown) => ApiError;
}

/** An import can have an error in each of its fields. */
const maxProblems = 1_000;

/**
 * `form` is how errors name the position of a value: `bookings[0].endDate` or the JSON Pointer `/facilities/0/id`.
 * Errors with pointers keep their order, which is that of a file, and the others get the order of the catalogue.
 */
export function createErrors<Catalogue extends Readonly<Record<string, DocumentedError>>>(
  catalogue: Catalogue,
  { form }: { readonly form: 'path' | 'pointer' },
) {
  type Code = keyof Catalogue & string;
  const positions = new Map(Object.keys(catalogue).map((code, index) => [code, index]));
  const entryOf = (code: Code): DocumentedError => catalogue[code] as DocumentedError;
  const compare = (a: ApiProblem, b: ApiProblem): number => (positions.get(a.code) ?? 0) - (positions.get(b.code) ?? 0);

  function problemOf(code: Code, contextData: ContextData = {}): ApiProblem {
    const { description, field } = entryOf(code);
    return {
      code,
      description,
      moreInfo: '',
      contextData: field === undefined ? contextData : { field, ...contextData },
    };
  }

  function problemsOf(validationErrors: readonly ValidationError[], contextData: ContextData = {}): ApiProblem[] {
    return validationErrors.map(({ field, path = field, kind, hint, code, contextData: ownContext }) => {
      const context = ownContext ?? { ...contextData, field: path };
      const problem = problemOf(code ?? (kind === 'missing' ? 'ERR00001' : 'ERR00002'), context);
      const template = kind === 'unknown' ? "'{fieldName}' is not known." : problem.description;
      const label = form === 'pointer' ? path : field;
      const moreInfo = hint && label ? `${label}: ${hint}` : hint;
      return { ...problem, description: template.replace('{fieldName}', () => field), moreInfo };
    });
  }

  function apiError(code: Code, options: ErrorOptions = {}): ApiError {
    const { context, description, moreInfo = '', headers, cause } = options;
    const problem = { ...problemOf(code, context), ...(description && { description }), moreInfo };
    return new ApiError(entryOf(code).status, [problem], { headers: headers ?? {}, cause });
  }

  return {
    catalogue,
    problemOf,
    problemsOf,
    apiError,
    /** Creates an error with all problems. If their statuses differ, it is 400. */
    badRequest(problems: readonly ApiProblem[]): ApiError {
      const statuses = new Set(problems.map(({ code }) => entryOf(code).status));
      const [status = 400] = statuses.size === 1 ? statuses : [];
      const ordered = form === 'pointer' ? problems : problems.toSorted(compare);
      return new ApiError(status, ordered.slice(0, maxProblems));
    },
    unavailable: (cause: unknown, retryAfterSeconds = 1): ApiError =>
      apiError('ERR00503', { headers: { 'Retry-After': String(retryAfterSeconds) }, cause }),
    /** `reason` is a sentence without a full stop. */
    tooManyRequests(reason: string, seconds: number, headers: Record<string, string> = {}): ApiError {
      const moreInfo = `${reason}. Try again in ${seconds} s.`;
      return apiError('ERR00429', { moreInfo, headers: { ...headers, 'Retry-After': String(seconds) } });
    },
  };
}

export const errorEnvelopeSchema = responseSchema({
  errors: {
    type: 'array',
    minItems: 1,
    items: responseSchema({
      code: { type: 'string', description: 'Stable error code.' },
      description: { type: 'string', description: 'Human-readable text.' },
      moreInfo: { type: 'string', description: 'Additional information; may be empty.' },
      contextData: {
        type: 'object',
        description: 'What the texts say, for programs.',
        properties: {
          externalBookingId: { type: 'string', description: 'In errors of a booking; "" where there is none.' },
          index: { type: 'integer', description: 'In errors of a group: the position of the booking, from 0.' },
          field: { type: 'string', description: 'The parameter, or the path of a field inside the body.' },
          heldUntil: { type: 'string', description: 'When the conflicting hold ends, UTC.' },
          closure: {
            type: 'string',
            description: 'The reason of the closure, blocked without a reason, or closed outside opening hours.',
          },
        },
      },
    }),
  },
});
