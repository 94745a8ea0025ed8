// Tests the format of times, durations and waiting times on pages.
import { expect, test } from '@jest/globals';
import { formatDuration, formatTime, formatWait } from './time-format.ts';

test('a time is formatted with its time zone', () => {
  expect(formatTime(new Date('2026-03-05T10:00:00.123Z'))).toEqual({
    iso: '2026-03-05T10:00:00.123Z',
    text: '5 Mar 2026, 10:00 UTC',
  });
});

test.each([
  [1, '1 second'],
  [90, '90 seconds'],
  [3600, '1 hour'],
  [5400, '90 minutes'],
  [86_400, '1 day'],
  [604_800, '7 days'],
])('a duration of %i seconds is %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

test.each([
  [1, '1 second'],
  [59, '59 seconds'],
  [61, '2 minutes'],
  [3_541, '1 hour'],
])('a waiting time of %i seconds is %s', (seconds, text) => {
  expect(formatWait(seconds)).toBe(text);
});
