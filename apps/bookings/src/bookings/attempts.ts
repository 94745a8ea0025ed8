// Repeats a write whose conflict disappeared before it could be reported.
import { unavailable } from '../errors.ts';

const maxAttempts = 20;

/**
 * Calls `attempt` until it returns a result. The argument tells the first attempt from the others. It returns
 * undefined if the database refused a write, but no reason was
 * found afterwards, because another request removed the reason in between.
 *
 * @throws {ApiError} 503 after 20 attempts
 */
export async function repeatUntilSettled<T>(attempt: (isFirst: boolean) => Promise<T | undefined>): Promise<T> {
  for (let count = 1; count <= maxAttempts; count += 1) {
    const result = await attempt(count === 1);
    if (result !== undefined) return result;
  }
  throw unavailable(
    new Error(`gave up after ${maxAttempts} attempts: the conflict disappeared each time it was looked up`),
  );
}
