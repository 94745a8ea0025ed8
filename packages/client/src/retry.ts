// Repeats a failed request if another attempt may succeed and chooses the delay before each attempt.
import { BookingsApiError, BookingsConnectionError, type BookingsError, BookingsTokenError } from './errors.ts';
import type { RetryOptions } from './options.ts';
import { sleep } from './timeout.ts';

const transientStatuses = [408, 429, 500, 502, 503, 504];

const firstDelayMs = 250;
const maxDelayMs = 8_000;

/** `mayHaveSucceeded` is true if an earlier attempt may have changed data although it failed. */
export async function retry<T>(
  attempt: (mayHaveSucceeded: boolean) => Promise<T>,
  isRepeatable: boolean,
  { maxAttempts = 4, maxTotalMs = 60_000 }: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  const end = Date.now() + maxTotalMs;
  let mayHaveSucceeded = false;
  for (let attemptNumber = 1; ; attemptNumber++) {
    try {
      return await attempt(mayHaveSucceeded);
    } catch (error) {
      const canRepeat = isRepeatable ? isTransient(error) : wasNotProcessed(error);
      if (attemptNumber >= maxAttempts || !canRepeat) throw error;
      const delay = retryDelay(attemptNumber, error);
      if (Date.now() + delay > end) throw error;
      mayHaveSucceeded ||= !wasNotProcessed(error);
      await sleep(delay, signal);
    }
  }
}

export function isTransient(error: unknown): error is BookingsError {
  if (error instanceof BookingsConnectionError) return true;
  if (error instanceof BookingsTokenError)
    return error.cause instanceof BookingsConnectionError || transientStatuses.includes(error.response?.status ?? 0);
  // ERR00409: the first request with this Idempotency-Key is still in progress.
  return error instanceof BookingsApiError && (transientStatuses.includes(error.status) || error.has('ERR00409'));
}

function wasNotProcessed(error: unknown): boolean {
  // A client that has no access token has not sent the request.
  if (error instanceof BookingsTokenError) return isTransient(error);
  return error instanceof BookingsApiError && error.status === 429;
}

/** Half of the delay is random: clients that failed together should not try again together. */
export function retryDelay(failures: number, error: unknown): number {
  const half = Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1)) / 2;
  return (retryAfterOf(error) ?? half) + Math.random() * half;
}

/** Reads `Retry-After`, which contains seconds or a date (RFC 9110). Returns milliseconds. */
function retryAfterOf(error: unknown): number | undefined {
  let headers: Headers | undefined;
  if (error instanceof BookingsApiError) headers = error.headers;
  else if (error instanceof BookingsTokenError) headers = error.response?.headers;
  const value = headers?.get('retry-after');
  if (!value) return undefined;
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}
