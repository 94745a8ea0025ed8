// Tests when the page repeats a failed request.
import { expect, test } from '@jest/globals';
import { repeatDelay, waitToRepeat } from './repeat.ts';

test('the delay doubles from 2.5 s to one minute', () =>
  expect([1, 2, 3, 4, 5, 6, 100].map(repeatDelay)).toEqual([2_500, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000]));

test.each(['connected', 'catch-up', 'abort'])('%s ends the wait', async (type) => {
  const [events, shown] = [new EventTarget(), new AbortController()];
  const wait = waitToRepeat(100, events, shown.signal);
  if (type === 'abort') shown.abort();
  else events.dispatchEvent(new Event(type));
  await wait;
});
