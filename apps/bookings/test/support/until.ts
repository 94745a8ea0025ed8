// Waits for a condition that becomes true without a request of the test.
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Reads every 10 ms until the condition holds, and returns the value.
 * @throws {Error} with the value if the condition does not hold after `limit` milliseconds
 */
export async function until<T>(read: () => Promise<T>, condition: (value: T) => boolean, limit = 8_000): Promise<T> {
  const deadline = Date.now() + limit;
  for (;;) {
    const value = await read();
    if (condition(value)) return value;
    if (Date.now() > deadline) throw new Error(`the condition does not hold for ${JSON.stringify(value)}`);
    await sleep(10);
  }
}
