// Repeats a write whose conflict disappeared before the conflict could be reported.
import { unavailable } from '../errors.ts';

const maxAttempts = 20;

/**
 * Calls `attempt` until it returns a result. `attempt` returns undefined if a conflict prevented the write, but another
 * request had removed the conflict before `attempt` looked it up. `isFirst` is true for the first call, which can leave
 * out checks that are rarely necessary.
 *
 * @throws {ApiError} 503 after 20 attempts
 */
export async function repeatUntilSettled<T>(attempt: (isFirst: boolean) => Promise<T | undefined>): Promise<T> {
  for (let attemptNumber = 1; attemptNumber <= maxAttempts; attemptNumber += 1) {
    const result = await attempt(attemptNumber === 1);
    if (result !== undefined) return result;
  }
  throw unavailable(
    new Error(`gave up after ${maxAttempts} attempts: the conflict disappeared each time it was looked up`),
  );
}
