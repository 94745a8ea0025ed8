// Loads a module outside of jest, so that all test files of a worker process share it. Jest evaluates every imported
// module again for each test file, which takes seconds for a whole service.

/** The module cannot use `@jest/globals` or a mocked clock. The type argument is the `typeof` of the module. */
export const loadOnce = <Module>(url: URL): Promise<Module> =>
  (globalThis as unknown as { loadOnce(url: string): Promise<Module> }).loadOnce(url.href);
