// Varies intervals at random, so that several instances do not run a job or repeat a request at the same moment.

/** Returns a random number that differs from `interval` by up to `share` (such as 0.25) of `interval`. */
export function withJitter(interval: number, share: number): number {
  return interval * (1 - share + 2 * share * Math.random());
}
