// Tests the medians, ratios, goals and tables of the benchmark report.
import { describe, expect, test } from '@jest/globals';
import { goalTables } from '../src/goals.ts';
import type { Sample } from '../src/measure.ts';
import { formatNumber, median, Results, sampleTable } from '../src/report.ts';

const sample = (target: string, round: number, rate: number, failed = 0): Sample => {
  const costs = { requests: 100, cpu: 1e6 / rate, databaseCpu: 50, memory: 100 };
  return { operation: 'get', target, round, rate, p50: 1, p95: 4, p99: 5, failed, ...costs };
};

describe('numbers', () => {
  test('the median of an even number of values lies between the middle two', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([3, 1, 2])).toBe(2);
    expect(median([])).toBeNaN();
  });

  test('numbers have three significant digits', () => {
    expect([12345, 123.4, 1.234, 0.5678, 0].map(formatNumber)).toEqual(['12300', '123', '1.23', '0.568', '0']);
    expect(formatNumber(Number.NaN)).toBe('–');
  });
});

describe('a comparison', () => {
  // During round 1 the machine was slow. This changes the rates of both targets, but not the ratio of the two rates.
  const results = new Results([
    sample('service', 0, 950),
    sample('fastify', 0, 1000),
    sample('service', 1, 92),
    sample('fastify', 1, 100),
    sample('service', 2, 600, 3),
    sample('fastify', 2, 1000, 7),
  ]);

  test('the ratio of two targets is computed within each round', () => {
    expect(results.ratio(['get', 'service'], ['get', 'fastify'], 'rate')).toBeCloseTo(0.92);
  });

  test('the table shows the median and the spread of the rates, and the failed requests of all rounds', () => {
    expect(sampleTable(results)).toContain('| get | service | 600 (92–950) | 1 | 4 | 5 | 1670 | 50 | 100 | 3 |');
  });

  test('only the goals of measured operations are in the table', () => {
    const table = goalTables(results);
    expect(table).toContain('| get | 1670 + 50 |  | 0.92 (≥ 0.9) |');
    expect(table).toContain('| failed requests of the service | 3 (≤ 0) **missed** |');
    expect(table).not.toContain('search');
  });
});
