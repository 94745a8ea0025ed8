// Registers the metrics of databases: the connections of the pools, the errors, and the repeated transactions.
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import { type Database, requirePool } from './connection-source.ts';
import { errorCode } from './errors.ts';

/**
 * SQLSTATEs whose counters exist from the start with the value 0. Prometheus would otherwise not see the increase from
 * 0 to 1.
 */
const expectedErrors = [
  '40P01', // deadlock_detected
  '40001', // serialization_failure
  '55P03', // lock_not_available
  '57014', // query_canceled
];

/** The keys of `databases` are the values of the label `pool`. */
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
    for (const code of expectedErrors) errors.inc({ pool: name, code }, 0);
    retries.inc({ pool: name }, 0);
    pool.on('failure', (error) => errors.inc({ pool: name, code: errorLabel(error) }));
    pool.on('retry', () => retries.inc({ pool: name }));
  }
}

/** Matches SQLSTATEs and names such as ECONNRESET. The number of these codes is limited, so they can be labels. */
const labelCodes = /^([0-9A-Z]{5}|E[A-Z_]{3,14})$/;

/** Returns the value of the label `code`: the code of the error if it can be a label, or else `timeout` or `other`. */
function errorLabel(error: unknown): string {
  const code = errorCode(error);
  if (code !== undefined && labelCodes.test(code)) return code;
  const isTimeout = Error.isError(error) && /timeout|timed ?out/i.test(`${error.name} ${error.message}`);
  return isTimeout ? 'timeout' : 'other';
}
