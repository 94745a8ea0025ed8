// Measures durations, and asks whether a service responds.
import { eventually } from '@bay-booking/testkit/wait';

/** Returns the duration of `work` in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return Math.round(performance.now() - start);
}

/** Waits as `eventually` does. Returns the duration in milliseconds. */
export const timeUntil = (check: () => Promise<unknown>): Promise<number> => timed(() => eventually(check));

/**
 * Whether a request to the URL returns a success status.
 * @throws {Error} when there is no response within 5 s
 */
export const isOk = async (url: string): Promise<boolean> =>
  (await fetch(url, { signal: AbortSignal.timeout(5_000) })).ok;
