// Tests the limit of token requests per minute.
import { expect, test } from '@jest/globals';
import { createRateLimit } from './policy.ts';

// The function `limit` counts a request of a client. It returns 0 if the request is allowed, or else the seconds to
// wait. The second argument of `createRateLimit` is a clock, which starts here at the beginning of a minute. `limit`
// stores the counts of at most 10 000 clients.

test('a client that continues to send requests stays limited while 30 000 other clients send requests', () => {
  const limit = createRateLimit(2, () => 60_000);
  limit('busy', 1);
  limit('busy', 1);
  for (let n = 0; n < 30_000; n++) {
    limit(`client ${n}`, 1);
    if (n % 1_000 === 0) expect(limit('busy', 1)).toBeGreaterThan(0);
  }
});

test('a new minute starts a new count', () => {
  let now = 60_000;
  const limit = createRateLimit(1, () => now);
  expect(limit('client', 1)).toBe(0);
  expect(limit('client', 1)).toBe(60);
  now += 60_000;
  expect(limit('client', 1)).toBe(0);
});
