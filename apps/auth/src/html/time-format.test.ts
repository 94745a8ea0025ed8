// Tests the format of times, durations and waiting times on pages.
import { expect, test } from '@jest/globals';
import { formatDuration, formatTime, formatWait } from './time-format.ts';

test('a time is formatted with its time zone', () => {
  expect(formatTime(new Date('2026-03-05T10:00:00.123Z'))).toEqual({
    iso: '2026-03-05T10:00:00.123Z',
    text: '5 Mar 2026, 10:00 UTC',
    textWithoutZone: '5 Mar 2026, 10:00',
    keepsZone: false,
  });
  expect(formatTime(new Date('2026-03-05T10:00:00.123Z'), 'Asia/Tokyo')).toMatchObject({
    text: '5 Mar 2026, 19:00 Asia/Tokyo',
    keepsZone: true,
  });
});

test('a duration is formatted in the largest unit that divides it', () => {
  const texts = [1, 90, 3600, 5400, 86_400, 604_800].map(formatDuration);
  expect(texts).toEqual(['1 second', '90 seconds', '1 hour', '90 minutes', '1 day', '7 days']);
});

test('a waiting time of a minute or more is rounded up to full minutes', () => {
  expect([1, 59, 61, 3_541].map(formatWait)).toEqual(['1 second', '59 seconds', '2 minutes', '1 hour']);
});
