// Computes medians and ratios of samples, and writes them as a Markdown table.
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

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const columns: Readonly<Record<string, Field>> = {
  'p50 ms': 'p50',
  'p95 ms': 'p95',
  'p99 ms': 'p99',
  'CPU µs': 'cpu',
  'PostgreSQL µs': 'databaseCpu',
  MB: 'memory',
};

/** Returns a table with a row for each operation and target: the medians of the rounds. */
export function sampleTable(results: Results): string {
  const keys = new Set(results.samples.map(({ operation, target }) => `${operation} ${target}`));
  const rows = [...keys].map((key) => {
    const measured = key.split(' ') as unknown as Measured;
    const rates = results.of(measured).map(({ rate }) => rate);
    const failed = results.of(measured).reduce((sum, sample) => sum + sample.failed, 0);
    return [
      ...measured,
      `${formatNumber(median(rates))} (${formatNumber(Math.min(...rates))}–${formatNumber(Math.max(...rates))})`,
      ...Object.values(columns).map((field) => formatNumber(results.median(measured, field))),
      String(failed),
    ];
  });
  return markdown(['operation', 'target', 'requests/s (min–max)', ...Object.keys(columns), 'failed'], rows);
}
