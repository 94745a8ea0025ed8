// Tests the medians, ratios and the table of the benchmark.
import { describe, expect, test } from '@jest/globals';
import type { Sample } from '../src/measure.ts';
import { formatNumber, median, ratio, resultTable } from '../src/report.ts';

const sample = (target: string, round: number, rate: number, failed = 0): Sample => {
  const costs = { requests: 100, cpu: 1e6 / rate, databaseCpu: 50, memory: 100 };
  return { operation: 'get', target, round, rate, p50: 1, p99: 5, failed, ...costs };
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
  const samples = [
    sample('service', 0, 950),
    sample('fastify', 0, 1000),
    sample('service', 1, 92),
    sample('fastify', 1, 100),
    sample('service', 2, 600, 3),
    sample('fastify', 2, 1000, 7),
  ];

  test('the ratio of two targets is computed within each round', () => {
    const of = (name: string) => samples.filter(({ target }) => target === name);
    expect(ratio(of('service'), of('fastify'), ({ rate }) => rate)).toBeCloseTo(0.92);
  });

  test('the table has the measured operations, with failed requests, and marks a missed bound', () => {
    const table = resultTable(samples).split('\n');
    expect(table).toHaveLength(3);
    expect(table[2]).toBe('| get | 600 | 1670 + 50 | – | 0.92 | – | 5 | 1 | 100 (1) | – | 3 |');
    const slower = [sample('service', 0, 900), sample('before', 0, 1000)];
    expect(resultTable(slower)).toContain('| 1.11 **missed** |');
  });
});
