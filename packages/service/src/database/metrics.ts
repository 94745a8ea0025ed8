// Registers the metrics of databases: the connections of the pools, the errors, and the repeated transactions.
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import { type Database, requirePool } from './connection-source.ts';
import { errorCode } from './errors.ts';

/**
 * Errors whose counters are created with the value 0. Otherwise, a counter would first appear with the value 1, and
 * Prometheus would not see this first increase.
 */
const expectedErrors = {
  deadlock: '40P01',
  serializationFailure: '40001',
  lockTimeout: '55P03',
  statementTimeout: '57014',
};

/** The keys of `databases`, such as `primary`, are the values of the label `pool`. */
export function collectDatabaseMetrics({ registry }: Metrics, databases: Readonly<Record<string, Database>>): void {
  const pools = Object.entries(databases).map(([name, db]) => [name, requirePool(db)] as const);
  new Gauge({
    name: 'database_pool_connections',
    help: 'Connections of the pool by state, the limit, and the requests that wait for one.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [name, pool] of pools) {
        this.set({ pool: name, state: 'used' }, pool.numUsed());
        this.set({ pool: name, state: 'free' }, pool.numFree());
        this.set({ pool: name, state: 'waiting' }, pool.numPendingAcquires());
        this.set({ pool: name, state: 'limit' }, pool.max);
      }
    },
  });
  const retries = new Counter({
    name: 'database_retries_total',
    help: 'Transactions that were repeated after a deadlock or a serialization failure.',
    labelNames: ['pool'],
    registers: [registry],
  });
  const errors = new Counter({
    name: 'database_errors_total',
    help: 'Statements and connections that failed, by SQLSTATE or network error.',
    labelNames: ['pool', 'code'],
    registers: [registry],
  });
  for (const [name, pool] of pools) {
    for (const code of Object.values(expectedErrors)) errors.inc({ pool: name, code }, 0);
    retries.inc({ pool: name }, 0);
    pool.on('failure', (error) => errors.inc({ pool: name, code: errorLabel(error) }));
    pool.on('retry', () => retries.inc({ pool: name }));
  }
}

/** Only SQLSTATEs and errno names become labels, because their number is limited. */
function errorLabel(error: unknown): string {
  const code = errorCode(error);
  if (code !== undefined && /^([0-9A-Z]{5}|E[A-Z_]{3,14})$/.test(code)) return code;
  return Error.isError(error) && /time(d ?out|out)/i.test(`${error.name} ${error.message}`) ? 'timeout' : 'other';
}
