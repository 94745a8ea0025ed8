// Defines the errors that the client throws.
import type { ErrorCode } from './generated/error-codes.ts';

/** One entry of the error envelope. */
export interface Problem {
  /**
   * One of the known codes, or a code that a later version of the service has added. With `string & {}` instead of
   * `string`, editors still suggest the known codes.
   */
  readonly code: ErrorCode | (string & {});
  /** A readable text in English that names the field, for example `'bayId' is mandatory.` */
  readonly description: string;
  /** Further details of the error, or an empty string. */
  readonly moreInfo: string;
  /** For errors of a booking: the `externalBookingId` of that booking, or `""` if the booking has none. */
  readonly contextData: Readonly<Record<string, unknown>>;
}

/** The base class of all errors of this package. */
export class BookingsError extends Error {
  override readonly name: string = 'BookingsError';
}

/** The Bookings API returned an error. `message` lists the problems. */
export class BookingsApiError extends BookingsError {
  override readonly name = 'BookingsApiError';
  readonly status: number;
  /**
   * All problems that the service reported. Empty if the response has no error envelope, for example because a proxy
   * has sent the response.
   */
  readonly problems: readonly Problem[];
  readonly headers: Headers;

  constructor(status: number, problems: readonly Problem[], headers: Headers) {
    super(problems.map(({ code, description }) => `${code} ${description}`).join(' ') || `HTTP status ${status}`);
    this.status = status;
    this.problems = problems;
    this.headers = headers;
  }

  /** Returns whether one of the problems has this code. */
  has(code: ErrorCode): boolean {
    return this.problems.some((problem) => problem.code === code);
  }

  /** The id of this request in the log of the service. */
  get requestId(): string | null {
    return this.headers.get('x-request-id');
  }
}

/** No usable response arrived, even after all attempts. `cause` is the last network error or timeout. */
export class BookingsConnectionError extends BookingsError {
  override readonly name = 'BookingsConnectionError';
}

/**
 * The client got no access token. `cause` is the error of the authorization server, or the error that the function
 * `auth` threw. The client tries again if `cause` is a BookingsConnectionError. The function `auth` can therefore throw
 * a BookingsConnectionError to report a temporary failure.
 */
export class BookingsTokenError extends BookingsError {
  override readonly name = 'BookingsTokenError';
  /** The member `error` of the authorization server's response, for example `invalid_client`. */
  readonly error: string | undefined;
  /** The response of the authorization server, if there was one. */
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
