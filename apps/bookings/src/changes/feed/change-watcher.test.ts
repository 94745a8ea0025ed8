// Tests how many requests of an owner can wait for changes of the feed at the same time. `waitForChange` returns false
// if the request must not wait, and true after a wait.
import { expect, test } from '@jest/globals';
import type { Caller } from '../../auth/caller.ts';
import { createChangeWatcher } from './change-watcher.ts';

/** A store of facilities that never change, so no wait ends because of a change. */
const store = { numberChanges: async () => new Map<string, number>() };

/** Returns a function that lets requests of an owner wait, each with another client. */
function createWaits() {
  const stopping = new AbortController();
  const watcher = createChangeWatcher({ store, stopping: stopping.signal });
  let clients = 0;
  const wait = (subject: string, facilityId: string) => {
    clients += 1;
    const caller = { subject, clientId: `client-${clients}` } as Caller;
    return watcher.waitForChange({ facilityId, changeNumber: 0, caller }, 60_000);
  };
  return { wait, stop: () => stopping.abort() };
}

test('at most 100 requests of an owner wait at a facility, and others can still wait', async () => {
  const { wait, stop } = createWaits();
  const waiting = Array.from({ length: 100 }, () => wait('greedy', 'north'));
  expect(await wait('greedy', 'north')).toBe(false);
  waiting.push(wait('greedy', 'south'), wait('modest', 'north'));
  stop();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
});

test('an owner of many facilities cannot take the places of all others', async () => {
  const { wait, stop } = createWaits();
  const waiting = Array.from({ length: 1_200 }, (_, index) => wait('greedy', `facility-${index % 12}`));
  expect(await wait('greedy', 'another')).toBe(false);
  waiting.push(wait('modest', 'another'));
  stop();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
});
