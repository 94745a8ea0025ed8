// Tests how many requests may wait for changes of the feed.
import { expect, test } from '@jest/globals';
import { createChangeWatcher } from './change-watcher.ts';

const store = { heads: async () => [], number: async () => ({ changeNumber: 0, removedNumber: 0 }) };

test('a client has at most 1200 waiting requests, which take no place of other clients', async () => {
  const stopping = new AbortController();
  const watcher = createChangeWatcher({ store: store as never, stopping: stopping.signal });
  const wait = (clientId: string) => watcher.waitForChange({ facilityId: 'fac', changeNumber: 0, clientId }, 60_000);
  const waiting = Array.from({ length: 1_200 }, () => wait('greedy'));
  expect(await wait('greedy')).toBe(false);
  waiting.push(wait('modest'));
  stopping.abort();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
});
