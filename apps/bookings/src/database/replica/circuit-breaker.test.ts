// A replica that fails rests for longer and longer, is then tried by one read alone, and is used by all once that one succeeded.
import { expect, test } from '@jest/globals';
import { createCircuitBreaker } from './circuit-breaker.ts';

function atRest() {
  let now = 0;
  const rest = createCircuitBreaker(() => now);
  rest.fail(rest.begin() as number);
  return {
    rest,
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

test('one read tries after the rest; the others wait for what it finds', () => {
  const { rest, pass } = atRest();
  expect(rest.begin()).toBeUndefined();
  pass(100);
  const attempt = rest.begin() as number;
  expect(attempt).toBeDefined();
  expect(rest.begin()).toBeUndefined();
  rest.succeed(attempt);
  expect([rest.begin(), rest.begin()]).toEqual([attempt, attempt]);
});

test('rests double, to five seconds', () => {
  const { rest, pass } = atRest();
  const lengths = [200, 400, 800, 1_600, 3_200, 5_000, 5_000];
  pass(100);
  for (const length of lengths) {
    rest.fail(rest.begin() as number);
    pass(length - 1);
    expect(rest.begin()).toBeUndefined();
    pass(1);
  }
  expect(rest.begin()).toBeDefined();
});

test('those that began together count as one failure, and a success that began before it ends no rest', () => {
  const rest = createCircuitBreaker(() => 0);
  const together = [rest.begin(), rest.begin(), rest.begin()] as number[];
  rest.fail(together[0] as number);
  rest.fail(together[1] as number);
  rest.succeed(together[2] as number);
  expect(rest.begin()).toBeUndefined();
});

test('a try that told nothing lets the next one try', () => {
  const { rest, pass } = atRest();
  pass(100);
  rest.skip(rest.begin() as number);
  expect(rest.begin()).toBeDefined();
});
