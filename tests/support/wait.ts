// Waits for a condition in a running system, and measures how long it took.

/**
 * Calls `check` every 25 ms until it returns a truthy value, and returns this value. If `check` throws, it is called
 * again.
 * @throws {Error} when there is no such value after `limit` milliseconds
 */
export async function eventually<T>(check: () => Promise<T | undefined | false>, limit = 30_000): Promise<T> {
  const end = performance.now() + limit;
  for (;;) {
    const result = await check().catch(() => undefined);
    if (result) return result;
    if (performance.now() > end) throw new Error(`the condition was not met after ${limit} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Returns the duration of `work` in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return Math.round(performance.now() - start);
}

/** Returns the milliseconds until `check` returns a truthy value. */
export const timeUntil = (check: () => Promise<unknown>, limit?: number): Promise<number> =>
  timed(() => eventually(check as () => Promise<true>, limit));

/** Whether the URL responds with a success status. */
export const isOk = async (url: string): Promise<boolean> =>
  (await fetch(url, { signal: AbortSignal.timeout(5_000) })).ok;
