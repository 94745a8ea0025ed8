// Computes medians and ratios of samples, and writes them as the table of docs/performance.md.
import type { Sample } from './measure.ts';

/** `allCpu` is the CPU time of the target and of PostgreSQL. */
export type Field = 'rate' | 'p50' | 'p95' | 'p99' | 'cpu' | 'databaseCpu' | 'allCpu' | 'memory';

const fieldOf = (sample: Sample | undefined, field: Field): number => {
  if (!sample) return Number.NaN;
  return field === 'allCpu' ? sample.cpu + sample.databaseCpu : sample[field];
};

/** Returns the median, or NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
}

/** Formats a number with at most three significant digits. A value that was not measured becomes “–”. */
export const formatNumber = (value: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(3))) : '–';

/** The name of an operation, and of a target. */
export type Measured = readonly [operation: string, target: string];

export class Results {
  readonly samples: readonly Sample[];

  constructor(samples: readonly Sample[]) {
    this.samples = samples;
  }

  of([operation, target]: Measured): Sample[] {
    return this.samples.filter((sample) => sample.operation === operation && sample.target === target);
  }

  median(measured: Measured, field: Field): number {
    return median(this.of(measured).map((sample) => fieldOf(sample, field)));
  }

  /** Divides the field of `measured` by that of `other` within each round, and returns the median of the quotients. */
  ratio(measured: Measured, other: Measured, field: Field): number {
    const others = this.of(other);
    const quotients = this.of(measured).map((sample) => {
      const divisor = others.find(({ round }) => round === sample.round);
      return fieldOf(sample, field) / fieldOf(divisor, field);
    });
    return median(quotients);
  }
}

/** The highest permitted CPU time of an operation, in relation to the release `before`. */
const cpuBounds: Readonly<Record<string, number>> = { get: 0.97, create: 0.93, delete: 0.93 };
const defaultCpuBound = 1.03;

const verdict = (operation: string, toBefore: number): string => {
  const bound = cpuBounds[operation] ?? defaultCpuBound;
  return `${formatNumber(toBefore)}${toBefore > bound ? ` (≤ ${bound}) **missed**` : ''}`;
};

/** Returns a row for each operation. A cell is “–” if its target was not measured. */
export function resultTable(results: Results): string {
  const operations = new Set(results.samples.map(({ operation }) => operation));
  const rows = [...operations].map((operation) => {
    const value = (field: Field) => formatNumber(results.median([operation, 'service'], field));
    const to = (target: string, field: Field) => results.ratio([operation, 'service'], [operation, target], field);
    const expert = results.of([operation, 'fastify']).length > 0 ? 'fastify' : 'oidc-provider-postgres';
    const failed = results.of([operation, 'service']).reduce((sum, sample) => sum + sample.failed, 0);
    return [
      operation,
      value('rate'),
      `${value('cpu')} + ${value('databaseCpu')}`,
      verdict(operation, to('before', 'allCpu')),
      ...[to(expert, 'rate'), to('express', 'rate'), to('bare', 'rate')].map(formatNumber),
      value('p95'),
      value('p99'),
      formatNumber(to(expert, 'p99')),
      `${value('memory')} (${formatNumber(to(expert, 'memory'))})`,
      formatNumber(results.ratio([operation, 'large'], [operation, 'small'], 'p50')),
      String(failed),
    ];
  });
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** “Expert” is `fastify` or `oidc-provider-postgres`. */
const columns = [
  'operation',
  'requests/s',
  'CPU µs, Node + PostgreSQL',
  'CPU to before',
  'rate to expert',
  'to express',
  'to bare',
  'p95 ms',
  'p99 ms',
  'p99 to expert',
  'MB (to expert)',
  'p50 large to small',
  'failed',
];
