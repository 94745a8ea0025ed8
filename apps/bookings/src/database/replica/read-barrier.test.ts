// Tests that each call of the barrier gets the result of a look-up that began after the call, and that calls share
// look-ups. The service looks up the WAL position of the primary, so that a read on the replica includes every earlier
// write.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createReadBarrier } from './read-barrier.ts';

test('each call gets the result of a look-up that began after the call, and look-ups run one at a time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('call', 'resolve', 'reject'), { maxLength: 60 }), async (steps) => {
      let begun = 0;
      const inFlight: { settle: (how: string) => void }[] = [];
      const barrier = createReadBarrier(() => {
        // The result of a look-up is its number: 1 for the first look-up.
        const number = ++begun;
        return new Promise<number>((resolve, reject) => {
          inFlight.push({ settle: (how) => (how === 'reject' ? reject(new Error()) : resolve(number)) });
        });
      });
      const calls: Promise<void>[] = [];
      // After `steps`, one look-up can be in flight, and calls can wait for a second one. The last two steps end both.
      for (const step of [...steps, 'resolve', 'resolve']) {
        if (step === 'call') {
          const begunBefore = begun;
          const check = (number: number) => expect(number).toBeGreaterThan(begunBefore);
          // A call may also be rejected, but only with the error of a rejected look-up, which has no message.
          calls.push(barrier().then(check, (error) => expect(error.message).toBe('')));
        } else inFlight.shift()?.settle(step);
        expect(inFlight.length).toBeLessThanOrEqual(1);
        // Lets the callbacks of the settled promises run.
        await new Promise(setImmediate);
      }
      await Promise.all(calls);
    }),
  );
});

test('a hundred simultaneous calls need only two look-ups', async () => {
  let begun = 0;
  const barrier = createReadBarrier(async () => ++begun);
  // The first call begins a look-up. The other calls come after its beginning, so they wait for a second look-up.
  await Promise.all(Array.from({ length: 100 }, barrier));
  expect(begun).toBe(2);
});
