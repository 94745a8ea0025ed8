// With which flags of Node does a service run? Whoever starts one takes them from here; the apps' `start` scripts and the images, which
// cannot, are held to them by a test. docs/performance.md has what they are worth.

/** A young heap of 3 × 4 MB: 40 MB less at the same CPU. */
export const nodeFlags: readonly string[] = ['--max-semi-space-size=4'];

/** For NODE_COMPILE_CACHE, from the repository's root: types are stripped and code is compiled once, not at every start. */
export const compileCache = 'node_modules/.cache/compile';
