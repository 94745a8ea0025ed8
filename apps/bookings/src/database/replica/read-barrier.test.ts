// Whoever asks where the primary is gets a place that was looked up after they asked, and many who ask make few look-ups.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createReadBarrier } from './read-barrier.ts';

test('every answer is of a look-up that began after the call, and one at a time is in flight', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('ask', 'answer', 'fail'), { maxLength: 60 }), async (steps) => {
      let begun = 0;
      const flying: { settle: (how: string) => void }[] = [];
      const fence = createReadBarrier(() => {
        const number = ++begun;
        return new Promise<number>((resolve, reject) => {
          flying.push({ settle: (how) => (how === 'fail' ? reject(new Error()) : resolve(number)) });
        });
      });
      const asked: Promise<void>[] = [];
      for (const step of [...steps, 'answer', 'answer']) {
        if (step === 'ask') {
          const before = begun;
          const check = (number: number) => expect(number).toBeGreaterThan(before);
          asked.push(fence().then(check, (error) => expect(error.message).toBe('')));
        } else flying.shift()?.settle(step);
        expect(flying.length).toBeLessThanOrEqual(1);
        await new Promise(setImmediate);
      }
      await Promise.all(asked);
    }),
  );
});

test('a hundred who ask at once share two look-ups', async () => {
  let begun = 0;
  const fence = createReadBarrier(async () => ++begun);
  await Promise.all(Array.from({ length: 100 }, fence));
  expect(begun).toBe(2);
});
