// Checks a condition again and again until it is true, for tests that have no event to wait for.
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `read` every 10 ms until `condition` is true for the value, and returns the value.
 * @throws {Error} with the last value if the condition is not true after `limitMs` milliseconds
 */
export async function until<T>(read: () => Promise<T>, condition: (value: T) => boolean, limitMs = 40_000): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const value = await read();
    if (condition(value)) return value;
    if (Date.now() > deadline) throw new Error(`the condition does not hold for ${JSON.stringify(value)}`);
    await sleep(10);
  }
}
