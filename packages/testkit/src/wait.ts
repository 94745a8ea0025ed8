// Waits until a running system meets a condition.

/**
 * Calls `check` until it returns a truthy value, and returns this value. An error of `check` has the same effect as a
 * falsy value. The pause between two calls is longer if a call takes long, because the system that is waited for needs
 * the processor too.
 * @throws {Error} when `check` has returned no truthy value after `limitMs` milliseconds. The message contains the
 * source text of `check`, and the cause is its last error.
 */
export async function eventually<T>(check: () => Promise<T | undefined | false>, limitMs = 100_000): Promise<T> {
  const end = performance.now() + limitMs;
  let cause: unknown;
  for (;;) {
    const start = performance.now();
    const result = await check().catch((error) => {
      cause = error;
    });
    if (result) return result;
    const now = performance.now();
    if (now > end) throw new Error(`the condition was not met after ${limitMs} ms: ${check}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, Math.min(25 + 4 * (now - start), 1_000)));
  }
}
