// Tests the circuit breaker with a simulated clock. `begin` returns undefined if a call is not allowed.
import { expect, test } from '@jest/globals';
import { type Attempt, createCircuitBreaker } from './circuit-breaker.ts';

/** A circuit breaker that has just opened. */
function openCircuitBreaker() {
  let now = 0;
  const breaker = createCircuitBreaker(() => now);
  breaker.fail(breaker.begin() as Attempt);
  return {
    breaker,
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

test('after the pause one call probes the replica, and all calls are allowed once the probe has succeeded', () => {
  const { breaker, advance } = openCircuitBreaker();
  expect(breaker.begin()).toBeUndefined();
  advance(100);
  const probe = breaker.begin() as Attempt;
  expect(probe).toBeDefined();
  expect(breaker.begin()).toBeUndefined();
  breaker.succeed(probe);
  // An attempt is the number of earlier failures, so further attempts equal the probe.
  expect([breaker.begin(), breaker.begin()]).toEqual([probe, probe]);
});

test('the pause doubles with each failed probe, up to five seconds', () => {
  const { breaker, advance } = openCircuitBreaker();
  const pauses = [200, 400, 800, 1_600, 3_200, 5_000, 5_000];
  advance(100);
  for (const pause of pauses) {
    breaker.fail(breaker.begin() as Attempt);
    advance(pause - 1);
    expect(breaker.begin()).toBeUndefined();
    advance(1);
  }
  expect(breaker.begin()).toBeDefined();
});

test('calls that fail together count as one failure, and a success of an older call does not close the circuit', () => {
  let now = 0;
  const breaker = createCircuitBreaker(() => now);
  const [first, second, third] = [breaker.begin(), breaker.begin(), breaker.begin()] as [Attempt, Attempt, Attempt];
  breaker.fail(first);
  breaker.fail(second);
  breaker.succeed(third);
  now = 99;
  expect(breaker.begin()).toBeUndefined();
  // A second failure would have doubled the pause.
  now = 100;
  expect(breaker.begin()).toBeDefined();
});

test('after an abandoned probe the next call probes', () => {
  const { breaker, advance } = openCircuitBreaker();
  advance(100);
  breaker.abandon(breaker.begin() as Attempt);
  expect(breaker.begin()).toBeDefined();
});
