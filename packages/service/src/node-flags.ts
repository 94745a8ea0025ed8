// With which flags of Node does a service run? Whoever starts one takes them from here; the apps' `start` scripts and the images, which
// cannot, are held to them by a test. docs/performance.md has what they are worth.

/**
 * How large the young heap may grow, thrice so many MB. What auth holds while it answers is little, and old soon: 4 save 40 MB. Pages of bookings
 * are much at once: with 4 a hundredth of them waits three times as long, for 21 MB less.
 */
export const nodeFlags = {
  auth: ['--max-semi-space-size=4'],
  bookings: ['--max-semi-space-size=16'],
} as const;

/** For NODE_COMPILE_CACHE, from the repository's root: types are stripped and code is compiled once, not at every start. */
export const compileCache = 'node_modules/.cache/compile';
