// Compares the results with the goals of docs/performance.md. Leaves out goals that were not measured.
import { tokenPeer } from './auth.ts';
import { operationGroups } from './booking-operations.ts';
import { peerOperations } from './bookings.ts';
import { type Field, formatNumber, type Measured, markdown, type Results } from './report.ts';

/** Returns a number that is not finite if the operation was not measured. */
type Measure = (results: Results) => number;

const service = (operation: string): Measured => [operation, 'service'];
const value =
  (operation: string, field: Field): Measure =>
  (results) =>
    results.median(service(operation), field);
const ratio =
  (operation: string, other: Measured, field: Field = 'rate'): Measure =>
  (results) =>
    results.ratio(service(operation), other, field);
/** The highest of the finite values, or -Infinity. */
const highest =
  (measures: readonly Measure[]): Measure =>
  (results) =>
    Math.max(...measures.map((measure) => measure(results)).filter(Number.isFinite));
const memoryRatio =
  (operations: readonly string[], target: string): Measure =>
  (results) => {
    const memoryOf = (name: string) => Math.max(...operations.map((of) => results.median([of, name], 'memory')));
    return memoryOf('service') / memoryOf(target);
  };

const p50Growth = operationGroups.flat().map(
  (name): Measure =>
    (results) =>
      results.ratio([name, 'large'], [name, 'small'], 'p50'),
);
const p99ToFastify = peerOperations.map((name) => ratio(name, [name, 'fastify'], 'p99'));
const week = 'availability-week';
const largeWeek: Measure = (results) => results.median([week, 'large'], 'p95');
const failed: Measure = ({ samples }) => samples.reduce((sum, sample) => sum + sample.failed, 0);

const goals: readonly (readonly [goal: string, operator: '≥' | '≤', bound: number, measure: Measure])[] = [
  ['get: rate to Fastify', '≥', 0.9, ratio('get', ['get', 'fastify'])],
  ['get: rate to Express + knex', '≥', 3, ratio('get', ['get', 'express'])],
  ['search of a day: rate to Fastify', '≥', 1.1, ratio('search', ['search', 'fastify'])],
  ['upcoming: rate to Fastify', '≥', 1.1, ratio('upcoming', ['upcoming', 'fastify'])],
  ['create: rate to Fastify', '≥', 0.75, ratio('create', ['create', 'fastify'])],
  ['create: rate to Express + knex', '≥', 1.3, ratio('create', ['create', 'express'])],
  ['update: rate to Fastify', '≥', 0.75, ratio('update', ['update', 'fastify'])],
  ['update: rate to Express + knex', '≥', 1.3, ratio('update', ['update', 'express'])],
  ['create with a hold: rate to create', '≥', 0.6, ratio('create-with-hold', service('create'))],
  ['p99 to Fastify, the worst of these operations', '≤', 1.5, highest(p99ToFastify)],
  ['availability of a day: rate to the list of that day', '≥', 0.6, ratio('availability', service('day-list'))],
  ['availability of 50 bays and 7 days, one client: p95 in ms', '≤', 30, highest([value(week, 'p95'), largeWeek])],
  ['feed: pages of 1000 changes to pages of 1000 bookings', '≥', 0.8, ratio('feed', service('facility-list'))],
  ['webhooks: deliveries per second', '≥', 500, value('webhooks', 'rate')],
  ['webhooks: share within 2 s while a fifth of the receivers hang', '≥', 0.95, value('webhooks-in-time', 'rate')],
  ['one bay, 64 clients: rate to pgbench', '≥', 0.5, ratio('hot-bay', ['hot-bay', 'pgbench'])],
  ['one bay, 64 clients: p99 in ms', '≤', 150, value('hot-bay', 'p99')],
  ['p50 with many to few bookings, the worst operation', '≤', 2, highest(p50Growth)],
  ['bookings: memory to Fastify', '≤', 1.15, memoryRatio(peerOperations, 'fastify')],
  ['client_credentials: rate to oidc-provider', '≥', 0.8, ratio('token', ['token', tokenPeer])],
  ['refresh: rate to oidc-provider', '≥', 0.9, ratio('refresh', ['refresh', tokenPeer])],
  ['password sign-ins per second', '≥', 40, value('password', 'rate')],
  ['auth: memory to oidc-provider', '≤', 1.1, memoryRatio(['token', 'refresh'], tokenPeer)],
  ['failed requests', '≤', 0, failed],
];

export function goalTable(results: Results): string {
  const rows = goals.flatMap(([goal, operator, bound, measure]) => {
    const result = measure(results);
    if (!Number.isFinite(result)) return [];
    const isMet = operator === '≥' ? result >= bound : result <= bound;
    return [[goal, `${operator} ${bound}`, formatNumber(result), isMet ? 'met' : '**missed**']];
  });
  return markdown(['goal', 'bound', 'result', ''], rows);
}
