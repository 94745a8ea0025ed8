// Waits until a running system meets a condition, and measures durations.

/**
 * Calls `check` every 25 ms until it returns a truthy value, and returns this value. An error of `check` has the same
 * effect as a falsy value.
 * @throws {Error} when `check` has returned no truthy value after `limitMs` milliseconds. The message contains the
 * source text of `check`.
 */
export async function eventually<T>(check: () => Promise<T | undefined | false>, limitMs = 120_000): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const result = await check().catch(() => undefined);
    if (result) return result;
    if (performance.now() > end) throw new Error(`the condition was not met after ${limitMs} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Returns the duration of `work` in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return Math.round(performance.now() - start);
}

/** Waits as `eventually` does. Returns the duration in milliseconds. */
export const timeUntil = (check: () => Promise<unknown>, limitMs?: number): Promise<number> =>
  timed(() => eventually(check, limitMs));

/**
 * Whether a request to the URL returns a success status.
 * @throws {Error} when there is no response within 5 s
 */
export const isOk = async (url: string): Promise<boolean> =>
  (await fetch(url, { signal: AbortSignal.timeout(5_000) })).ok;
