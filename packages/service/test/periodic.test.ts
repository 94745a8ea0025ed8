// Tests the loop of periodic jobs: wake-ups, further runs, errors and the end.
import { expect, test } from '@jest/globals';
import { createLogger } from '../src/logging.ts';
import { startLoop } from '../src/periodic.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const hour = 3_600_000;

test('a job runs again at once while it has more to do', async () => {
  let left = 3;
  const loop = startLoop({ name: 'queue', intervalMs: hour, logger, run: async () => --left > 0 });
  await loop.wake();
  expect(left).toBe(0);
  await loop.stop();
});

test('wake-ups during a run lead to exactly one more run, and runs do not overlap', async () => {
  let runs = 0;
  let running = 0;
  const first = Promise.withResolvers<void>();
  const loop = startLoop({
    name: 'queue',
    intervalMs: hour,
    logger,
    run: async () => {
      runs += 1;
      running += 1;
      expect(running).toBe(1);
      if (runs === 1) await first.promise;
      running -= 1;
    },
  });
  const wakeUps = [loop.wake(), loop.wake(), loop.wake()];
  first.resolve();
  await Promise.all(wakeUps);
  expect(runs).toBe(2);
  await loop.stop();
});

test.each([
  ['a job runs at its interval', () => {}],
  [
    'a failed job runs again',
    () => {
      throw new Error('failed');
    },
  ],
])('%s', async (_title, work) => {
  const thirdRun = Promise.withResolvers<void>();
  let runs = 0;
  const run = async () => {
    runs += 1;
    if (runs === 3) thirdRun.resolve();
    work();
  };
  const loop = startLoop({ name: 'job', intervalMs: 1, logger, run });
  await thirdRun.promise;
  await loop.stop();
});

test('the end waits for the current run, and no run follows', async () => {
  let runs = 0;
  let finished = 0;
  const loop = startLoop({
    name: 'queue',
    intervalMs: hour,
    logger,
    run: async () => {
      runs += 1;
      await new Promise((resolve) => setImmediate(resolve));
      finished += 1;
      return true;
    },
  });
  void loop.wake();
  await loop.stop();
  expect(finished).toBe(1);
  await loop.wake();
  expect(runs).toBe(1);
});
