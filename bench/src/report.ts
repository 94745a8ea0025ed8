// Computes medians and ratios of samples, and writes them as the table of docs/performance.md.
import type { Sample } from './measure.ts';

/** Returns the median, or NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
}

/** Formats a number with at most three significant digits. A value that was not measured becomes “–”. */
export const formatNumber = (value: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(3))) : '–';

type Figure = (sample: Sample) => number;

const samplesOf = (samples: readonly Sample[], operation: string, target: string): Sample[] =>
  samples.filter((sample) => sample.operation === operation && sample.target === target);

/** Divides a figure of `ours` by that of `theirs` within each round, and returns the median of the quotients. */
export const ratio = (ours: readonly Sample[], theirs: readonly Sample[], figure: Figure): number =>
  median(
    ours.flatMap((sample) =>
      theirs.filter(({ round }) => round === sample.round).map((other) => figure(sample) / figure(other)),
    ),
  );

/** The highest permitted CPU time of an operation, in relation to the release `before`. */
const cpuBounds: Readonly<Record<string, number>> = { get: 0.97, create: 0.93, delete: 0.93 };
const defaultCpuBound = 1.03;

const verdict = (operation: string, toBefore: number): string => {
  const bound = cpuBounds[operation] ?? defaultCpuBound;
  return `${formatNumber(toBefore)}${toBefore > bound ? ` **missed**` : ''}`;
};

/** Returns a row for each operation. A cell is “–” if its target was not measured. */
export function resultTable(samples: readonly Sample[]): string {
  const rows = [...new Set(samples.map(({ operation }) => operation))].map((operation) => {
    const of = (target: string) => samplesOf(samples, operation, target);
    const service = of('service');
    const value = (figure: Figure) => formatNumber(median(service.map(figure)));
    const to = (target: string, figure: Figure) => formatNumber(ratio(service, of(target), figure));
    const expert = of('fastify').length > 0 ? 'fastify' : 'oidc-provider-postgres';
    return {
      operation,
      'requests/s': value(({ rate }) => rate),
      'CPU µs, Node + PostgreSQL': `${value(({ cpu }) => cpu)} + ${value(({ databaseCpu }) => databaseCpu)}`,
      'CPU to before': verdict(
        operation,
        ratio(service, of('before'), ({ cpu, databaseCpu }) => cpu + databaseCpu),
      ),
      // The expert is `fastify` or `oidc-provider-postgres`.
      'rate to expert': to(expert, ({ rate }) => rate),
      'to express': to('express', ({ rate }) => rate),
      'p99 ms': value(({ p99 }) => p99),
      'p99 to expert': to(expert, ({ p99 }) => p99),
      'MB (to expert)': `${value(({ memory }) => memory)} (${to(expert, ({ memory }) => memory)})`,
      'p50 large to small': formatNumber(ratio(of('large'), of('small'), ({ p50 }) => p50)),
      failed: String(service.reduce((sum, { failed }) => sum + failed, 0)),
    };
  });
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, columns.map(() => '---'), ...rows.map((row) => Object.values(row))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
