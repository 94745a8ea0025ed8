// Compares the texts of isoText, which caches the texts of whole minutes, with those of toISOString.
import { expect, test } from '@jest/globals';
import { isoText } from './iso-text.ts';

test('isoText returns the same text as toISOString, with and without a cached text', () => {
  const bounds = [Date.UTC(1, 0), 0, -1, 1, Date.UTC(2026, 11, 1, 8), Date.UTC(9999, 11, 31, 23, 59)];
  // Half of these instants, 60 000, are whole minutes. The cache can contain only 50 000.
  const random = Array.from({ length: 120_000 }, (_, index) => {
    const instant = Date.UTC(1900, 0) + Math.floor(Math.random() * 6e12);
    return index % 2 ? instant : instant - (instant % 60_000);
  });
  const instants = [...bounds, ...random, ...bounds];
  expect(instants.filter((instant) => isoText(instant) !== new Date(instant).toISOString())).toEqual([]);
});
