// Compares the results with the goals, which docs/performance.md explains.
import { tokenPeer } from './auth.ts';
import { operationGroups } from './booking-operations.ts';
import { peerOperations } from './bookings.ts';
import { type Field, formatNumber, markdown, type Results } from './report.ts';

type Goal = readonly [goal: string, operator: '≥' | '≤', bound: number, result: number];

/** The result of a goal is not a finite number if its operation was not measured. */
function goalsOf(results: Results): readonly Goal[] {
  const value = (operation: string, field: Field): number => results.median([operation, 'service'], field);
  const toTarget = (operation: string, target: string, field: Field = 'rate'): number =>
    results.ratio([operation, 'service'], [operation, target], field);
  const toOperation = (operation: string, other: string): number =>
    results.ratio([operation, 'service'], [other, 'service'], 'rate');
  const highest = (values: readonly number[]): number => Math.max(...values.filter(Number.isFinite));
  const memory = (operations: readonly string[], target: string): number =>
    highest(operations.map((operation) => results.median([operation, target], 'memory')));
  const p99 = peerOperations.map((operation) => toTarget(operation, 'fastify', 'p99'));
  const p50Growth = operationGroups
    .flat()
    .map((operation) => results.ratio([operation, 'large'], [operation, 'small'], 'p50'));
  const week = 'availability-week';
  const weekP95 = highest([value(week, 'p95'), results.median([week, 'large'], 'p95')]);
  const memoryToFastify = memory(peerOperations, 'service') / memory(peerOperations, 'fastify');
  const tokens = ['token', 'refresh'];
  const failed = results.samples.reduce((sum, sample) => sum + sample.failed, 0);
  return [
    ['get to Fastify', '≥', 0.9, toTarget('get', 'fastify')],
    ['get to Express', '≥', 3, toTarget('get', 'express')],
    ['search to Fastify', '≥', 1.1, toTarget('search', 'fastify')],
    ['upcoming to Fastify', '≥', 1.1, toTarget('upcoming', 'fastify')],
    ['create to Fastify', '≥', 0.75, toTarget('create', 'fastify')],
    ['create to Express', '≥', 1.3, toTarget('create', 'express')],
    ['update to Fastify', '≥', 0.75, toTarget('update', 'fastify')],
    ['update to Express', '≥', 1.3, toTarget('update', 'express')],
    ['worst p99 to Fastify', '≤', 1.5, highest(p99)],
    ['create with a hold to create', '≥', 0.6, toOperation('create-with-hold', 'create')],
    ['availability of a day to list', '≥', 0.6, toOperation('availability', 'day-list')],
    ['availability of 50 bays and 7 days, p95 in ms', '≤', 30, weekP95],
    ['feed to list, 1000 bookings', '≥', 0.8, toOperation('feed', 'facility-list')],
    ['webhook deliveries per second', '≥', 500, value('webhooks', 'rate')],
    ['deliveries within 2 s, a fifth of the receivers hang', '≥', 0.95, value('webhooks-in-time', 'rate')],
    ['hot bay to pgbench', '≥', 0.5, toTarget('hot-bay', 'pgbench')],
    ['hot bay, p99 in ms', '≤', 150, value('hot-bay', 'p99')],
    ['worst p50, large to small dataset', '≤', 2, highest(p50Growth)],
    ['memory to Fastify', '≤', 1.15, memoryToFastify],
    ['client_credentials to oidc-provider', '≥', 0.8, toTarget('token', tokenPeer)],
    ['refresh to oidc-provider', '≥', 0.9, toTarget('refresh', tokenPeer)],
    ['password sign-ins per second', '≥', 40, value('password', 'rate')],
    ['memory to oidc-provider', '≤', 1.1, memory(tokens, 'service') / memory(tokens, tokenPeer)],
    ['failed requests', '≤', 0, failed],
  ];
}

export function goalTable(results: Results): string {
  const rows = goalsOf(results).flatMap(([goal, operator, bound, result]) => {
    if (!Number.isFinite(result)) return [];
    const isMet = operator === '≥' ? result >= bound : result <= bound;
    return [[goal, `${operator} ${bound}`, formatNumber(result), isMet ? 'met' : '**missed**']];
  });
  return markdown(['goal', 'bound', 'result', ''], rows);
}
