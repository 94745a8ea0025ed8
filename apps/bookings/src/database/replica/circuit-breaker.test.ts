// Tests the circuit breaker with a simulated clock. `begin` returns undefined if a call is not allowed.
import { expect, test } from '@jest/globals';
import { type Attempt, createCircuitBreaker } from './circuit-breaker.ts';

/** How long a circuit breaker allows no call after its first failure, in ms. */
const firstPause = 100;

/** Returns a circuit breaker that has just opened because of a first failure, and a function that moves its clock. */
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
  advance(firstPause);
  const probe = breaker.begin() as Attempt;
  expect(probe).toBeDefined();
  expect(breaker.begin()).toBeUndefined();
  breaker.succeed(probe);
  // `begin` represents each attempt by the number of earlier failures. There was no further failure, so both attempts
  // have the same number as the probe.
  expect([breaker.begin(), breaker.begin()]).toEqual([probe, probe]);
});

test('the pause doubles with each failed probe, up to five seconds', () => {
  const { breaker, advance } = openCircuitBreaker();
  const pauses = [200, 400, 800, 1_600, 3_200, 5_000, 5_000];
  advance(firstPause);
  for (const pause of pauses) {
    breaker.fail(breaker.begin() as Attempt);
    advance(pause - 1);
    expect(breaker.begin()).toBeUndefined();
    advance(1);
  }
  expect(breaker.begin()).toBeDefined();
});

test('calls that fail together count as one failure, so the pause is not longer than after a single failure', () => {
  let now = 0;
  const breaker = createCircuitBreaker(() => now);
  const [first, second] = [breaker.begin(), breaker.begin()] as [Attempt, Attempt];
  breaker.fail(first);
  breaker.fail(second);
  now = firstPause - 1;
  expect(breaker.begin()).toBeUndefined();
  now = firstPause;
  expect(breaker.begin()).toBeDefined();
});

test('the success of a call that began before a failure does not close the circuit', () => {
  const breaker = createCircuitBreaker(() => 0);
  const [first, second] = [breaker.begin(), breaker.begin()] as [Attempt, Attempt];
  breaker.fail(first);
  breaker.succeed(second);
  expect(breaker.begin()).toBeUndefined();
});

test('after a probe that was abandoned without a result, the next call probes', () => {
  const { breaker, advance } = openCircuitBreaker();
  advance(firstPause);
  breaker.abandon(breaker.begin() as Attempt);
  expect(breaker.begin()).toBeDefined();
});
