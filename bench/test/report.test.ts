// Tests the statistics, comparisons and tables of the benchmark report.
import { describe, expect, test } from '@jest/globals';
import { datasetOf } from '../src/dataset.ts';
import { judge } from '../src/goals.ts';
import type { Sample } from '../src/measure.ts';
import { Results, tableOf } from '../src/report.ts';
import { formatNumber, median, percentile, spreadOf } from '../src/statistics.ts';

const sample = (target: string, round: number, rate: number, failed = 0): Sample => {
  const costs = { cpu: 1e6 / rate, databaseCpu: 50, memory: 100, foreign: 0 };
  return { operation: 'get', target, round, rate, p50: 1, p95: 4, p99: 5, failed, ...costs };
};

describe('statistics', () => {
  test('the median of an even number of values lies between the middle two', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([3, 1, 2])).toBe(2);
  });

  test('percentiles and spreads do not depend on the order', () => {
    expect(percentile([5, 1, 4, 2, 3], 0.99)).toBe(5);
    expect(spreadOf([2, 9, 4])).toEqual({ median: 4, min: 2, max: 9 });
  });

  test('numbers are rounded to three significant digits, or to integers if they are larger', () => {
    expect([12345, 123.4, 1.234, 0.5678].map(formatNumber)).toEqual(['12345', '123', '1.23', '0.568']);
    expect(formatNumber(Number.NaN)).toBe('–');
  });
});

describe('a comparison', () => {
  // During round 1 the machine was slow. This changes the rates of both targets, but not the ratio of the two rates.
  const results = new Results([
    sample('service', 0, 500),
    sample('bare', 0, 1000),
    sample('service', 1, 60),
    sample('bare', 1, 100),
    sample('service', 2, 600, 3),
    sample('bare', 2, 1000),
  ]);

  test('the ratio of two targets is computed within each round', () => {
    expect(results.ratio('get', 'service', 'bare', 'rate')).toEqual({ median: 0.6, min: 0.5, max: 0.6 });
  });

  test('the table shows the sum of the failed responses of all rounds', () => {
    const row = tableOf(results, 'get')
      .split('\n')
      .find((line) => line.startsWith('| service'));
    // These columns are the number of failed responses, and the ratio of the rates to `bare` with its spread.
    expect(row).toContain('| 3 | 0.600 (0.500–0.600) |');
  });

  test('only the goals of measured operations are checked', () => {
    const verdicts = judge(results);
    expect(verdicts.find(({ goal }) => goal === 'get: rate to bare')).toMatchObject({ measured: 0.6, isMet: true });
    expect(verdicts.find(({ goal }) => goal === 'failed responses')).toMatchObject({ measured: 3, isMet: false });
    expect(verdicts.some(({ goal }) => goal.startsWith('search'))).toBe(false);
  });
});

describe('a dataset', () => {
  // A facility has 40 bays with 12 bookings a day, so 100 000 bookings fill two days of 104 facilities. A dataset has
  // 250 facilities at most.
  test.each([
    [10_000, 10],
    [100_000, 104],
    [1_000_000, 250],
  ])('%i bookings fill two days or more of %i facilities', (bookings, facilities) => {
    const dataset = datasetOf(bookings, 250);
    expect(dataset.facilities).toBe(facilities);
    expect(dataset.days).toBeGreaterThanOrEqual(2);
  });
});
