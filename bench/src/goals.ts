// Compares the measured values with the goals. Leaves out the goals of operations that were not measured.
import { markdown, type NumericField, type Results } from './report.ts';
import { formatNumber } from './statistics.ts';

export interface Verdict {
  readonly goal: string;
  /** The operator and the bound, for example `≥ 0.95`. */
  readonly bound: string;
  readonly measured: number;
  readonly isMet: boolean;
}

interface Goal {
  readonly goal: string;
  readonly bound: number;
  /** `≥`: the measured value must be at least the bound. `≤`: the measured value must be at most the bound. */
  readonly operator: '≥' | '≤';
  readonly measure: Measure;
}

/** Computes a value from the results. The value is not a finite number if the operation was not measured. */
type Measure = (results: Results) => number;

const atLeast = (bound: number, goal: string, measure: Measure): Goal => ({ goal, bound, operator: '≥', measure });
const atMost = (bound: number, goal: string, measure: Measure): Goal => ({ goal, bound, operator: '≤', measure });

/** Divides the value of the target by the value of another target. */
const ratio =
  (operation: string, otherTarget: string, field: NumericField = 'rate', target = 'service'): Measure =>
  (results) =>
    results.ratio(operation, target, otherTarget, field).median;

const median =
  (operation: string, field: NumericField, target = 'service'): Measure =>
  (results) =>
    results.median(operation, target, field);

/**
 * Returns the highest memory use of the service after any of the operations, in megabytes. The value is -Infinity if
 * none of the operations was measured.
 */
const maxMemory =
  (operations: readonly string[]): Measure =>
  (results) =>
    Math.max(...operations.map((operation) => results.median(operation, 'service', 'memory')).filter(Number.isFinite));

/** The operations after which the memory of bookings is measured. */
const bookingOperations = ['get', 'create', 'create-external', 'update', 'search', 'upcoming'];
/** The operations after which the memory of auth is measured. */
const tokenOperations = ['client-credentials', 'refresh', 'password'];

/**
 * The rate of this release, divided by the rate of the older release, must be at least this number. `update` may be a
 * tenth slower than before the change feed existed, because each change is now entered into the feed.
 */
const releaseBounds = {
  get: 0.95,
  search: 0.95,
  upcoming: 0.95,
  create: 0.97,
  'create-external': 0.95,
  update: 0.9,
  'client-credentials': 0.95,
  refresh: 0.95,
};

/**
 * "Rate to X" is the rate of the measured target, divided by the rate of the target X (docs/performance.md). A target
 * is a server, such as `service` or `fastify`, or a variant of a measurement, such as `idle` and `during sign-ins`.
 */
const goals: readonly Goal[] = [
  atLeast(0.55, 'get: rate to bare', ratio('get', 'bare')),
  atLeast(1, 'get: rate to Fastify', ratio('get', 'fastify')),
  atLeast(3, 'get: rate to Express + knex', ratio('get', 'express')),
  atLeast(0.7, 'create: rate to bare', ratio('create', 'bare')),
  atLeast(1, 'create: rate to Fastify', ratio('create', 'fastify')),
  atLeast(1.5, 'create: rate to Express + knex', ratio('create', 'express')),
  atMost(1.5, 'create: PostgreSQL CPU to bare', ratio('create', 'bare', 'databaseCpu')),
  atLeast(1.1, 'search: rate to bare', ratio('search', 'bare')),
  ...['get', 'create', 'update', 'search', 'upcoming'].map((operation) =>
    atMost(1.25, `${operation}: p99 to Fastify`, ratio(operation, 'fastify', 'p99')),
  ),
  atMost(2.5, 'dpop: CPU to Bearer', ratio('dpop', 'Bearer', 'cpu', 'DPoP')),
  atMost(130, 'bookings: MB after the load', maxMemory(bookingOperations)),
  atLeast(1, 'client-credentials: rate to oidc-provider', ratio('client-credentials', 'oidc-provider')),
  atLeast(1, 'client-credentials: rate to oauth2-server (stretch)', ratio('client-credentials', 'oauth2-server')),
  atLeast(
    1,
    'client-credentials: rate to oidc-provider on PostgreSQL',
    ratio('client-credentials', 'oidc-provider-postgres'),
  ),
  atLeast(1, 'refresh: rate to oidc-provider on PostgreSQL', ratio('refresh', 'oidc-provider-postgres')),
  atLeast(40, 'password: sign-ins a second', median('password', 'rate')),
  atMost(2, 'GET during 20 sign-ins a second: p99 to idle', ratio('discovery', 'idle', 'p99', 'during sign-ins')),
  atMost(280, 'auth: MB after the load', maxMemory(tokenOperations)),
  ...['get', 'create', 'update', 'search', 'upcoming', 'availability-week'].flatMap((operation) => [
    atMost(
      1.3,
      `${operation}: CPU of the service at 1 M to 10 k rows`,
      ratio(`growth ${operation}`, '10000 rows', 'cpu', '1000000 rows'),
    ),
    atMost(
      1.3,
      `${operation}: CPU of PostgreSQL at 1 M to 10 k rows`,
      ratio(`growth ${operation}`, '10000 rows', 'databaseCpu', '1000000 rows'),
    ),
  ]),
  ...Object.entries(releaseBounds).map(([operation, bound]) =>
    atLeast(bound, `${operation}: rate to the release before`, ratio(`release ${operation}`, 'before')),
  ),
  atLeast(
    0.6,
    'availability of a day: rate to the list of that day',
    ratio('availability', 'list', 'rate', 'availability'),
  ),
  atMost(30, 'availability of 50 bays and 7 days: p95 ms', median('availability-week', 'p95')),
  atLeast(0.6, 'create with a hold: rate to create', ratio('holds', 'without a hold', 'rate', 'with a hold')),
  atLeast(0.8, 'pages of 1000 changes: rate to pages of 1000 bookings', ratio('feed', 'list', 'rate', 'feed')),
  ...['create', 'availability'].map((operation) =>
    atLeast(
      0.95,
      `${operation} with 100 000 expired holds: rate to none`,
      ratio(`expired-holds ${operation}`, 'without', 'rate', 'with expired holds'),
    ),
  ),
  atLeast(500, 'webhooks: deliveries a second', median('webhooks', 'rate', 'all healthy')),
  atLeast(
    0.95,
    'webhooks: share within 2 s while other receivers hang',
    ratio('webhooks', 'expected', 'rate', 'within 2 s'),
  ),
  atLeast(0.8, 'hot bay: rate to pgbench', ratio('hot bay', 'pgbench')),
  atMost(100, 'hot bay: p99 ms', median('hot bay', 'p99')),
  atMost(0, 'failed responses', ({ samples }) => samples.reduce((sum, { failed }) => sum + failed, 0)),
];

export function judge(results: Results): Verdict[] {
  return goals.flatMap(({ goal, bound, operator, measure }) => {
    const measured = measure(results);
    if (!Number.isFinite(measured)) return [];
    const isMet = operator === '≥' ? measured >= bound : measured <= bound;
    return [{ goal, bound: `${operator} ${bound}`, measured, isMet }];
  });
}

export function goalTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ goal, bound, measured, isMet }) => [
    goal,
    bound,
    formatNumber(measured),
    isMet ? 'met' : '**missed**',
  ]);
  return `### Goals\n\n${markdown(['goal', 'bound', 'measured', ''], rows)}`;
}
