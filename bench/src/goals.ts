// Compares the measured values with the goals. Leaves out the goals of operations that were not measured.
import { markdown, type NumericField, type Results } from './report.ts';
import { digits } from './statistics.ts';

export interface Verdict {
  readonly goal: string;
  readonly bound: string;
  readonly measured: number;
  readonly isMet: boolean;
}

interface Goal {
  readonly goal: string;
  readonly bound: number;
  /** `≥`: the measured value must be at least the bound. `≤`: it must be at most the bound. */
  readonly operator: '≥' | '≤';
  readonly measure: (results: Results) => number;
}

const ratio =
  (operation: string, to: string, field: NumericField = 'rate', target = 'service') =>
  (results: Results) =>
    results.ratio(operation, target, to, field).median;

const memory =
  (operations: readonly string[]) =>
  (results: Results): number =>
    Math.max(...operations.map((operation) => results.median(operation, 'service', 'memory')).filter(Number.isFinite));

const bookings = ['get', 'create', 'create-external', 'update', 'search', 'upcoming'];
const tokens = ['client-credentials', 'refresh'];

/**
 * The rate of this release, divided by the rate of the older release, must be at least this number. `update` may be a
 * tenth slower than before the change feed existed, because each change is now entered into the feed.
 */
const releaseBounds = {
  get: 0.97,
  search: 0.95,
  upcoming: 0.95,
  create: 0.97,
  'create-external': 0.95,
  update: 0.9,
  'client-credentials': 0.95,
  refresh: 0.95,
};

const goals: readonly Goal[] = [
  { goal: 'get: rate to bare', bound: 0.55, operator: '≥', measure: ratio('get', 'bare') },
  { goal: 'get: rate to Fastify', bound: 1, operator: '≥', measure: ratio('get', 'fastify') },
  { goal: 'get: rate to Express + knex', bound: 3, operator: '≥', measure: ratio('get', 'express') },
  { goal: 'create: rate to bare', bound: 0.7, operator: '≥', measure: ratio('create', 'bare') },
  { goal: 'create: rate to Fastify', bound: 1, operator: '≥', measure: ratio('create', 'fastify') },
  { goal: 'create: rate to Express + knex', bound: 1.5, operator: '≥', measure: ratio('create', 'express') },
  {
    goal: 'create: PostgreSQL CPU to bare',
    bound: 1.5,
    operator: '≤',
    measure: ratio('create', 'bare', 'databaseCpu'),
  },
  { goal: 'search: rate to bare', bound: 1.1, operator: '≥', measure: ratio('search', 'bare') },
  ...['get', 'create', 'update', 'search', 'upcoming'].map(
    (operation): Goal => ({
      goal: `${operation}: p99 to Fastify`,
      bound: 1.25,
      operator: '≤',
      measure: ratio(operation, 'fastify', 'p99'),
    }),
  ),
  { goal: 'dpop: CPU to Bearer', bound: 2.5, operator: '≤', measure: ratio('dpop', 'Bearer', 'cpu', 'DPoP') },
  { goal: 'bookings: MB after the load', bound: 130, operator: '≤', measure: memory(bookings) },
  {
    goal: 'client-credentials: rate to oidc-provider',
    bound: 1,
    operator: '≥',
    measure: ratio('client-credentials', 'oidc-provider'),
  },
  {
    goal: 'client-credentials: rate to oauth2-server (stretch)',
    bound: 1,
    operator: '≥',
    measure: ratio('client-credentials', 'oauth2-server'),
  },
  {
    goal: 'client-credentials: rate to oidc-provider on PostgreSQL',
    bound: 1,
    operator: '≥',
    measure: ratio('client-credentials', 'oidc-provider-postgres'),
  },
  {
    goal: 'refresh: rate to oidc-provider on PostgreSQL',
    bound: 1,
    operator: '≥',
    measure: ratio('refresh', 'oidc-provider-postgres'),
  },
  {
    goal: 'password: sign-ins a second',
    bound: 40,
    operator: '≥',
    measure: (results) => results.median('password', 'service', 'rate'),
  },
  {
    goal: 'GET during 20 sign-ins a second: p99 to idle',
    bound: 2,
    operator: '≤',
    measure: (results) => results.ratio('discovery', 'during sign-ins', 'idle', 'p99').median,
  },
  { goal: 'auth: MB after the load', bound: 280, operator: '≤', measure: memory([...tokens, 'password']) },
  ...['get', 'create', 'update', 'search', 'upcoming', 'availability-week'].flatMap((operation): Goal[] => [
    {
      goal: `${operation}: CPU of the service at 1 M to 10 k rows`,
      bound: 1.3,
      operator: '≤',
      measure: ratio(`growth ${operation}`, '10000 rows', 'cpu', '1000000 rows'),
    },
    {
      goal: `${operation}: CPU of PostgreSQL at 1 M to 10 k rows`,
      bound: 1.3,
      operator: '≤',
      measure: ratio(`growth ${operation}`, '10000 rows', 'databaseCpu', '1000000 rows'),
    },
  ]),
  ...Object.entries(releaseBounds).map(
    ([operation, bound]): Goal => ({
      goal: `${operation}: rate to the release before`,
      bound,
      operator: '≥',
      measure: ratio(`release ${operation}`, 'before'),
    }),
  ),
  {
    goal: 'availability of a day: rate to the list of that day',
    bound: 0.6,
    operator: '≥',
    measure: ratio('availability', 'list', 'rate', 'availability'),
  },
  {
    goal: 'availability of 50 bays and 7 days: p95 ms',
    bound: 30,
    operator: '≤',
    measure: (results) => results.median('availability-week', 'service', 'p95'),
  },
  {
    goal: 'create with a hold: rate to create',
    bound: 0.6,
    operator: '≥',
    measure: ratio('holds', 'without a hold', 'rate', 'with a hold'),
  },
  {
    goal: 'pages of 1000 changes: rate to pages of 1000 bookings',
    bound: 0.8,
    operator: '≥',
    measure: ratio('feed', 'list', 'rate', 'feed'),
  },
  ...['create', 'availability'].map(
    (operation): Goal => ({
      goal: `${operation} beside 100 000 expired holds: rate to none`,
      bound: 0.95,
      operator: '≥',
      measure: ratio(`expired-holds ${operation}`, 'without', 'rate', 'with expired holds'),
    }),
  ),
  {
    goal: 'webhooks: deliveries a second',
    bound: 500,
    operator: '≥',
    measure: (results) => results.median('webhooks', 'all healthy', 'rate'),
  },
  {
    goal: 'webhooks: share within 2 s beside receivers that hang',
    bound: 0.95,
    operator: '≥',
    measure: ratio('webhooks', 'expected', 'rate', 'within 2 s'),
  },
  { goal: 'hot bay: rate to pgbench', bound: 0.8, operator: '≥', measure: ratio('hot bay', 'pgbench') },
  {
    goal: 'hot bay: p99 ms',
    bound: 100,
    operator: '≤',
    measure: (results) => results.median('hot bay', 'service', 'p99'),
  },
  {
    goal: 'failed responses',
    bound: 0,
    operator: '≤',
    measure: (results) => results.samples.reduce((sum, { failed }) => sum + failed, 0),
  },
];

export function judge(results: Results): Verdict[] {
  return goals.flatMap(({ goal, bound, operator, measure }) => {
    const measured = measure(results);
    if (!Number.isFinite(measured)) return [];
    return [
      {
        goal,
        bound: `${operator} ${bound}`,
        measured,
        isMet: operator === '≥' ? measured >= bound : measured <= bound,
      },
    ];
  });
}

export function goalTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ goal, bound, measured, isMet }) => [
    goal,
    bound,
    digits(measured),
    isMet ? 'met' : '**missed**',
  ]);
  return `### Goals\n\n${markdown(['goal', 'bound', 'measured', ''], rows)}`;
}
