// Gives the tests the systems of system.ts, whose modules all test files of a worker process share.
import { loadOnce } from '@bay-booking/testkit/load-once';

export const { baseUrl, closeExtraSystems, createExtraSystem, createTestSystem } = await loadOnce<
  typeof import('./system.ts')
>(new URL('./system.ts', import.meta.url));
export type { TestSystem } from './system.ts';
