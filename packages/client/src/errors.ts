// Defines the errors that the client throws.
import type { ErrorCode } from './generated/error-codes.ts';

export interface Problem {
  /** `string & {}` allows other codes, and editors still suggest the known codes. */
  readonly code: ErrorCode | (string & {});
  readonly description: string;
  readonly moreInfo: string;
  /** Errors of a booking have its `externalBookingId`, or `""` if the booking has no such id. */
  readonly contextData: Readonly<Record<string, unknown>>;
}

export class BookingsError extends Error {
  override readonly name: string = 'BookingsError';
}

export class BookingsApiError extends BookingsError {
  override readonly name: string = 'BookingsApiError';
  readonly status: number;
  /** Empty if the response describes no error, for example because a proxy sent it. */
  readonly problems: readonly Problem[];
  readonly headers: Headers;

  constructor(status: number, problems: readonly Problem[], headers: Headers) {
    super(problems.map(textOf).join(' ') || `HTTP status ${status}`);
    this.status = status;
    this.problems = problems;
    this.headers = headers;
  }

  has(code: ErrorCode): boolean {
    return this.problems.some((problem) => problem.code === code);
  }

  /** Identifies the request in the service's log. */
  get requestId(): string | null {
    return this.headers.get('x-request-id');
  }
}

/**
 * The user must sign in again (RFC 9470). Send the user to the authorization endpoint with `acr_values` and `max_age`,
 * then repeat the call with the new token.
 */
export class BookingsStepUpError extends BookingsApiError {
  override readonly name = 'BookingsStepUpError';
  readonly acrValues: string | undefined;
  /** In seconds. */
  readonly maxAge: number | undefined;

  constructor(status: number, problems: readonly Problem[], headers: Headers) {
    super(status, problems, headers);
    const challenge = headers.get('www-authenticate') ?? '';
    this.acrValues = /\bacr_values="([^"]*)"/.exec(challenge)?.[1];
    const maxAge = /\bmax_age="?(\d+)/.exec(challenge)?.[1];
    this.maxAge = maxAge === undefined ? undefined : Number(maxAge);
  }
}

export const requiresStepUp = ({ status, headers }: Pick<Response, 'status' | 'headers'>): boolean =>
  status === 401 && /\berror="insufficient_user_authentication"/.test(headers.get('www-authenticate') ?? '');

function textOf({ code, description, moreInfo }: Problem): string {
  return moreInfo ? `${code} ${description} (${moreInfo})` : `${code} ${description}`;
}

/** No usable response arrived after all attempts. `cause` is the last network error or timeout. */
export class BookingsConnectionError extends BookingsError {
  override readonly name = 'BookingsConnectionError';
}

/** The client could not get an access token. If `cause` is a BookingsConnectionError, the client has tried again. */
export class BookingsTokenError extends BookingsError {
  override readonly name = 'BookingsTokenError';
  /** The `error` field of the authorization server's response, for example `invalid_client`. */
  readonly error: string | undefined;
  readonly response: Response | undefined;

  constructor(
    message: string,
    options: { cause: unknown; error?: string | undefined; response?: Response | undefined },
  ) {
    super(message, { cause: options.cause });
    this.error = options.error;
    this.response = options.response;
  }
}
