// Decides whether and when a failed attempt is repeated.
import { BookingsApiError, BookingsConnectionError, type BookingsError, BookingsTokenError } from './errors.ts';
import type { RetryOptions } from './options.ts';
import { sleep } from './timeout.ts';

/** The same request may succeed later after one of these statuses. */
const transientStatuses = [408, 429, 500, 502, 503, 504];

const firstDelayMs = 250;
const maxDelayMs = 8_000;

/**
 * Repeats `attempt` until it succeeds, fails with an error that is not temporary, or the limits are reached. The
 * parameter `mayHaveSucceeded` of `attempt` is true if an earlier attempt may have changed data although no response
 * arrived.
 * @throws the error of the last attempt
 * @param isRepeatable whether the request has the same effect when it is sent twice
 */
export async function retry<T>(
  attempt: (mayHaveSucceeded: boolean) => Promise<T>,
  isRepeatable: boolean,
  { maxAttempts = 4, maxTotalMs = 60_000 }: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  const end = Date.now() + maxTotalMs;
  let mayHaveSucceeded = false;
  for (let number = 1; ; number++) {
    try {
      return await attempt(mayHaveSucceeded);
    } catch (error) {
      if (number >= maxAttempts || !(isRepeatable ? isTransient(error) : wasNotProcessed(error))) throw error;
      const delay = delayBefore(number, error);
      if (Date.now() + delay > end) throw error;
      mayHaveSucceeded ||= !wasNotProcessed(error);
      await sleep(delay, signal);
    }
  }
}

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): error is BookingsError {
  if (error instanceof BookingsConnectionError) return true;
  if (error instanceof BookingsTokenError)
    return (
      error.cause instanceof BookingsConnectionError || transientStatuses.includes(error.response?.status ?? Number.NaN)
    );
  // ERR00409: the first request with this Idempotency-Key is still in progress.
  return error instanceof BookingsApiError && (transientStatuses.includes(error.status) || error.has('ERR00409'));
}

/** Whether the service has certainly not processed the request. Even a POST may then be repeated. */
function wasNotProcessed(error: unknown): boolean {
  return error instanceof BookingsTokenError ? isTransient(error) : isApiErrorWithStatus(error, 429);
}

const isApiErrorWithStatus = (error: unknown, status: number): boolean =>
  error instanceof BookingsApiError && error.status === status;

/**
 * Returns milliseconds: at least `Retry-After` if the response has one, else an exponential delay. Half of the delay is
 * random, so that clients that failed together do not return together.
 */
export function delayBefore(retryNumber: number, error: unknown): number {
  const exponential = Math.min(maxDelayMs, firstDelayMs * 2 ** (retryNumber - 1));
  const jitter = Math.random() * (exponential / 2);
  return (retryAfterOf(error) ?? exponential / 2) + jitter;
}

/** Reads `Retry-After`, which contains seconds or a date (RFC 9110). Returns milliseconds. */
function retryAfterOf(error: unknown): number | undefined {
  const headers =
    error instanceof BookingsApiError
      ? error.headers
      : error instanceof BookingsTokenError
        ? error.response?.headers
        : undefined;
  const value = headers?.get('retry-after');
  if (!value) return undefined;
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}
