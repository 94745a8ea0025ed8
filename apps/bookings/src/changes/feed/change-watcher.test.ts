// Tests how many requests of a client can wait for changes of the feed at the same time. `waitForChange` returns false
// if the request must not wait, and true after a wait.
import { expect, test } from '@jest/globals';
import { createChangeWatcher } from './change-watcher.ts';

/** A store of facilities that never change, so no wait ends because of a change. */
const store = { numberChanges: async () => new Map<string, number>() };

test('at most 1200 requests of a client wait, and requests of other clients can still wait', async () => {
  const stopping = new AbortController();
  const watcher = createChangeWatcher({ store, stopping: stopping.signal });
  const wait = (clientId: string) => watcher.waitForChange({ facilityId: 'fac', changeNumber: 0, clientId }, 60_000);
  const waiting = Array.from({ length: 1_200 }, () => wait('greedy'));
  expect(await wait('greedy')).toBe(false);
  waiting.push(wait('modest'));
  stopping.abort();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
});
