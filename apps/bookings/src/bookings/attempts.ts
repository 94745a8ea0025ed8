// Repeats a write whose conflict disappeared before it could be reported.
import { unavailable } from '../errors.ts';

const maxAttempts = 20;

/**
 * Calls `attempt` until it returns a result. It returns undefined if the database refused a write, but no reason was
 * found afterwards, because another request removed the reason in between.
 *
 * @throws {ApiError} 503 after 20 attempts
 */
export async function repeatUntilSettled<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 1; count <= maxAttempts; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw unavailable(
    new Error(`gave up after ${maxAttempts} attempts: the conflict disappeared each time it was looked up`),
  );
}
