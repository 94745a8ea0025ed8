// Waits until a running system meets a condition.

/**
 * Calls `check` every 25 ms until it returns a truthy value, and returns this value. An error of `check` has the same
 * effect as a falsy value.
 * @throws {Error} when `check` has returned no truthy value after `limitMs` milliseconds. The message contains the
 * source text of `check`, and the cause is its last error.
 */
export async function eventually<T>(check: () => Promise<T | undefined | false>, limitMs = 100_000): Promise<T> {
  const end = performance.now() + limitMs;
  let cause: unknown;
  for (;;) {
    const result = await check().catch((error) => {
      cause = error;
    });
    if (result) return result;
    if (performance.now() > end) throw new Error(`the condition was not met after ${limitMs} ms: ${check}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
