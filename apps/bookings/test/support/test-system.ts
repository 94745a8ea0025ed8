// Gives the tests the systems of system.ts, whose modules all test files of a worker process share.
import { useFixture } from '@bay-booking/testkit/fixture';
import { loadOnce } from '@bay-booking/testkit/load-once';
import { afterEach } from '@jest/globals';
import type { TestSystem, TestSystemOptions } from './system.ts';

export const { baseUrl, closeExtraSystems, createExtraSystem, createTestSystem } = await loadOnce<
  typeof import('./system.ts')
>(new URL('./system.ts', import.meta.url));
export type { TestSystem } from './system.ts';

/** Starts a system for the tests of a file or block. Closes the extra systems of a test after the test. */
export function useTestSystem(options: TestSystemOptions = {}): TestSystem {
  afterEach(closeExtraSystems);
  return useFixture(() => createTestSystem(options));
}
