// Compares the results with the goals, which docs/performance.md contains.
import { tokenPeer } from './auth.ts';
import { operationGroups } from './booking-operations.ts';
import { peerOperations } from './bookings.ts';
import { type Field, formatNumber, markdown, type Results } from './report.ts';

/** The bounds of an operation: the CPU time to the release `before`, and the rate to the peers. */
interface Bounds {
  readonly before: number;
  readonly peers: Readonly<Record<string, number>>;
}

const read = { before: 1.1, peers: { fastify: 1.4, express: 2.5 } };
const write = { before: 1.25, peers: { fastify: 0.95, express: 2.7 } };
const bounds: Readonly<Record<string, Bounds>> = {
  get: { before: 1.15, peers: { fastify: 0.9, express: 3.3 } },
  search: read,
  upcoming: read,
  availability: read,
  create: write,
  update: write,
  delete: write,
  token: { before: 1.5, peers: { [tokenPeer]: 0.9 } },
  code: { before: 1.5, peers: { [tokenPeer]: 0.9 } },
  refresh: { before: 1, peers: { [tokenPeer]: 0.95 } },
};

type Operator = '≥' | '≤';
type Goal = readonly [goal: string, operator: Operator, bound: number, result: number];

function verdict(operator: Operator, bound: number, result: number): string {
  const isMet = operator === '≥' ? result >= bound : result <= bound;
  return `${formatNumber(result)} (${operator} ${bound})${isMet ? '' : ' **missed**'}`;
}

function operationTable(results: Results): string {
  const rows = Object.entries(bounds).flatMap(([operation, { before, peers }]) => {
    const service = [operation, 'service'] as const;
    if (results.of(service).length === 0) return [];
    const cpu = ['cpu', 'databaseCpu'].map((field) => formatNumber(results.median(service, field as Field)));
    const toBefore = results.ratio(service, [operation, 'before'], 'allCpu');
    const toPeers = Object.entries(peers).map(([peer, bound]) =>
      verdict('≥', bound, results.ratio(service, [operation, peer], 'rate')),
    );
    const cpuToBefore = Number.isFinite(toBefore) ? verdict('≤', before, toBefore) : '';
    const [toFastify = '', toExpress = ''] = toPeers;
    return [[operation, cpu.join(' + '), cpuToBefore, toFastify, toExpress]];
  });
  const peersHead = ['rate to Fastify or oidc-provider', 'rate to Express'];
  return markdown(['operation', 'CPU µs, Node + PostgreSQL', 'CPU to before', ...peersHead], rows);
}

/** The result of a goal is not a finite number if its operation was not measured. */
function otherGoals(results: Results): readonly Goal[] {
  const value = (operation: string, field: Field): number => results.median([operation, 'service'], field);
  const toTarget = (operation: string, target: string, field: Field): number =>
    results.ratio([operation, 'service'], [operation, target], field);
  const highest = (values: readonly number[]): number => Math.max(...values.filter(Number.isFinite));
  const memory = (operations: readonly string[], target: string): number =>
    highest(operations.map((operation) => results.median([operation, target], 'memory')));
  const p99 = peerOperations.map((operation) => toTarget(operation, 'fastify', 'p99'));
  const growth = operationGroups
    .flat()
    .map((operation) => results.ratio([operation, 'large'], [operation, 'small'], 'p50'));
  const tokens = ['token', 'code', 'refresh'];
  const own = results.samples.filter(({ target }) => ['service', 'small', 'large'].includes(target));
  return [
    ['worst p99 to Fastify', '≤', 1.2, highest(p99)],
    ['time of a group of 10 to a create', '≤', 3, results.ratio(['group', 'service'], ['create', 'service'], 'p50')],
    ['one bay, 64 clients, p99 in ms', '≤', 150, value('hot-bay', 'p99')],
    ['feed of 1000 changes, p95 in ms at 16 clients', '≤', 500, value('feed', 'p95')],
    ['webhook deliveries per second', '≥', 500, value('webhooks', 'rate')],
    ['memory of bookings in MB', '≤', 170, memory(peerOperations, 'service')],
    ['memory of auth to oidc-provider', '≤', 1.2, memory(tokens, 'service') / memory(tokens, tokenPeer)],
    ['history of a bay and a day, p95 in ms', '≤', 30, results.median(['history', 'large'], 'p95')],
    ['worst p50, large to small dataset', '≤', 2, highest(growth)],
    ['failed requests of the service', '≤', 0, own.reduce((sum, { failed }) => sum + failed, 0)],
  ];
}

/** Returns two tables: the operations, and the other goals. */
export function goalTables(results: Results): string {
  const rows = otherGoals(results).flatMap(([goal, operator, bound, result]) =>
    Number.isFinite(result) ? [[goal, verdict(operator, bound, result)]] : [],
  );
  return `${operationTable(results)}\n\n${markdown(['goal', 'result (bound)'], rows)}`;
}
