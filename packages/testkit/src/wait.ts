// Waits until a running system meets a condition.

/**
 * Calls `check` every 25 ms until it returns a truthy value, and returns this value. An error of `check` has the same
 * effect as a falsy value.
 * @throws {Error} when `check` has returned no truthy value after `limitMs` milliseconds. The message contains the
 * source text of `check`.
 */
export async function eventually<T>(check: () => Promise<T | undefined | false>, limitMs = 100_000): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const result = await check().catch(() => undefined);
    if (result) return result;
    if (performance.now() > end) throw new Error(`the condition was not met after ${limitMs} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
