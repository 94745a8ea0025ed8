// Creates the parts of the report: a Markdown table and an SVG plot for each operation. A table shows the median and
// the spread of the rounds of each target, and the ratio to the floor. The floor is the target with which the others
// are compared.
import type { Sample } from './measure.ts';
import { formatNumber, formatSpread, median, type Spread, spreadOf } from './statistics.ts';

export class Results {
  readonly samples: readonly Sample[];

  constructor(samples: readonly Sample[]) {
    this.samples = samples;
  }

  operations(): string[] {
    return [...new Set(this.samples.map(({ operation }) => operation))];
  }

  targets(operation: string): string[] {
    return [...new Set(this.of(operation).map(({ target }) => target))];
  }

  of(operation: string, target?: string): Sample[] {
    return this.samples.filter(
      (sample) => sample.operation === operation && (target === undefined || sample.target === target),
    );
  }

  median(operation: string, target: string, field: NumericField): number {
    return median(this.of(operation, target).map((sample) => sample[field]));
  }

  /**
   * Divides the value of `target` by the value of `otherTarget`, separately for each round. A slow round affects both
   * values, but not their ratio.
   */
  ratio(operation: string, target: string, otherTarget: string, field: NumericField): Spread {
    const others = this.of(operation, otherTarget);
    const ratios = this.of(operation, target).flatMap((sample) => {
      const other = others.find(({ round }) => round === sample.round);
      return other ? [sample[field] / other[field]] : [];
    });
    return spreadOf(ratios);
  }
}

/**
 * The numbers of a sample: requests per second (`rate`), response times in milliseconds (`p50`, `p95`, `p99`), CPU time
 * for each request in microseconds (`cpu`, `databaseCpu`), memory in megabytes (`memory`), the share of the CPU time of
 * the machine that other processes used (`foreign`), and the number of failed requests (`failed`).
 */
export type NumericField = 'rate' | 'p50' | 'p95' | 'p99' | 'cpu' | 'databaseCpu' | 'memory' | 'foreign' | 'failed';

/**
 * The floor of an operation is the target with which the others are compared. For operations that compare releases, it
 * is the older release `before`. For all other operations, it is the server `bare`, except for the operations in this
 * table.
 */
const floors: Readonly<Record<string, string>> = {
  'client-credentials': 'oidc-provider-postgres',
  refresh: 'oidc-provider-postgres',
  dpop: 'Bearer',
};
export const floorOf = (operation: string): string =>
  floors[operation] ?? (operation.startsWith('release ') ? 'before' : 'bare');

export function tableOf(results: Results, operation: string): string {
  const floor = floorOf(operation);
  const head = [
    'target',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'CPU µs',
    'PostgreSQL µs',
    'MB',
    'failed',
    `rate : ${floor}`,
    `CPU : ${floor}`,
    'foreign',
  ];
  const hasFloor = results.of(operation, floor).length > 0;
  const rows = results.targets(operation).map((target) => {
    const value = (field: NumericField) => formatNumber(results.median(operation, target, field));
    const failed = results.of(operation, target).reduce((sum, sample) => sum + sample.failed, 0);
    return [
      target,
      formatSpread(spreadOf(results.of(operation, target).map(({ rate }) => rate))),
      value('p50'),
      value('p99'),
      value('cpu'),
      value('databaseCpu'),
      value('memory'),
      String(failed),
      hasFloor ? formatSpread(results.ratio(operation, target, floor, 'rate')) : '–',
      hasFloor ? formatSpread(results.ratio(operation, target, floor, 'cpu')) : '–',
      percent(results.median(operation, target, 'foreign')),
    ];
  });
  return `### ${operation}\n\n${markdown(head, rows)}`;
}

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Draws one bar for each target. The line at the end of a bar shows the spread of the rounds. */
export function plotOf(results: Results, operation: string): string {
  const bars = results
    .targets(operation)
    .map((target) => ({ target, ...spreadOf(results.of(operation, target).map(({ rate }) => rate)) }))
    // This target always sends the same response, and is so much faster that its bar would make the others very short.
    .filter(({ target }) => target !== 'constant');
  // All lengths are in pixels. The names of the targets end left of the bars. The title is above the first bar.
  const maxBarWidth = 420;
  const barDistance = 28;
  const barLeft = 120;
  const firstBarTop = 34;
  const scale = maxBarWidth / Math.max(1, ...bars.map(({ max }) => max));
  const height = firstBarTop + bars.length * barDistance + 6;
  const drawn = bars.map(({ target, median: middle, min, max }, index) => {
    const y = firstBarTop + index * barDistance;
    const colour = target === 'service' ? '#1f6feb' : '#9aa4b0';
    const [from, to] = [barLeft + min * scale, barLeft + max * scale];
    return [
      `<text x="${barLeft - 8}" y="${y + 14}" text-anchor="end">${target}</text>`,
      `<rect x="${barLeft}" y="${y}" width="${(middle * scale).toFixed(1)}" height="18" fill="${colour}"/>`,
      `<path d="M${from.toFixed(1)} ${y + 9}H${to.toFixed(1)}" stroke="#24292f" stroke-width="2"/>`,
      `<text x="${(to + 8).toFixed(1)}" y="${y + 14}">${formatNumber(middle)}</text>`,
    ].join('');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="${height}" font-family="sans-serif" font-size="13">`,
    `<title>${operation}: requests per second</title>`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    `<text x="12" y="20" font-weight="bold">${operation}: requests per second, median and spread of the rounds</text>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

/** `share` is NaN if it was not measured. */
const percent = (share: number): string => (Number.isNaN(share) ? '–' : `${Math.round(share * 100)} %`);
