// Defines the errors that the client throws.
import type { ErrorCode } from './generated/error-codes.ts';

export interface Problem {
  /** With `string & {}`, other codes are allowed too, and editors still suggest the known ones. */
  readonly code: ErrorCode | (string & {});
  readonly description: string;
  readonly moreInfo: string;
  /** For errors of a booking: the `externalBookingId` of that booking, or `""` if the booking has none. */
  readonly contextData: Readonly<Record<string, unknown>>;
}

export class BookingsError extends Error {
  override readonly name: string = 'BookingsError';
}

export class BookingsApiError extends BookingsError {
  override readonly name = 'BookingsApiError';
  readonly status: number;
  /** Empty if the response has no error envelope, for example because a proxy sent it. */
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

  /** The id of this request in the log of the service. */
  get requestId(): string | null {
    return this.headers.get('x-request-id');
  }
}

function textOf({ code, description, moreInfo }: Problem): string {
  return moreInfo ? `${code} ${description} (${moreInfo})` : `${code} ${description}`;
}

/** No usable response arrived, even after all attempts. `cause` is the last network error or timeout. */
export class BookingsConnectionError extends BookingsError {
  override readonly name = 'BookingsConnectionError';
}

/** The client got no access token. If `cause` is a BookingsConnectionError, the client tries again. */
export class BookingsTokenError extends BookingsError {
  override readonly name = 'BookingsTokenError';
  /** The member `error` of the authorization server's response, for example `invalid_client`. */
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
