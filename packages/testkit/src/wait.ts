// Waits until a running system meets a condition.

/** No condition takes this long, even on a busy machine. */
const limitMs = 100_000;

/**
 * Calls `read` until `isMet` is true for its value, by default until the value is truthy, and returns the value. An
 * error of `read` counts as a value that does not meet the condition. The pause between two calls is longer if a call
 * takes long, because the system that is waited for needs the processor too.
 * @throws {Error} after 100 s, with the source text of the condition, the last value and the last error
 */
export async function eventually<T>(read: () => Promise<T | undefined | false>): Promise<T>;
export async function eventually<T>(read: () => Promise<T>, isMet: (value: T) => boolean): Promise<T>;
export async function eventually<T>(read: () => Promise<T>, isMet?: (value: T) => boolean): Promise<T> {
  const end = performance.now() + limitMs;
  let lastValue: T | undefined;
  let cause: unknown;
  for (;;) {
    const start = performance.now();
    try {
      lastValue = await read();
      if (isMet ? isMet(lastValue) : lastValue) return lastValue;
    } catch (error) {
      cause = error;
    }
    const now = performance.now();
    if (now > end)
      throw new Error(`not met after ${limitMs} ms: ${isMet ?? read}: ${JSON.stringify(lastValue)}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, Math.min(25 + 4 * (now - start), 1_000)));
  }
}
