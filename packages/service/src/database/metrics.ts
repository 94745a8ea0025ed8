// Registers a database's metrics: connections of the pool, errors and repeated transactions.
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import type { Database } from './database.ts';
import { errorCode } from './errors.ts';

/** These SQLSTATEs are counted from 0, so that Prometheus sees the increase from 0 to 1. */
const expectedErrors = [
  '40P01', // deadlock_detected
  '40001', // serialization_failure
  '55P03', // lock_not_available
  '57014', // query_canceled
];

export function collectDatabaseMetrics({ registry }: Metrics, { connections: { pool, events } }: Database): void {
  new Gauge({
    name: 'database_pool_connections',
    help: 'Connections of the pool by state, the limit, and the requests that wait for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'free' }, pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
      this.set({ state: 'limit' }, pool.options.max);
    },
  });
  const retries = new Counter({
    name: 'database_retries_total',
    help: 'Transactions that were repeated after a deadlock or a serialization failure.',
    registers: [registry],
  });
  const errors = new Counter({
    name: 'database_errors_total',
    help: 'Statements and connections that failed, by SQLSTATE or network error.',
    labelNames: ['code'],
    registers: [registry],
  });
  for (const code of expectedErrors) errors.inc({ code }, 0);
  retries.inc(0);
  events.on('failure', (error) => errors.inc({ code: errorLabel(error) }));
  events.on('retry', () => retries.inc());
}

/** Matches SQLSTATEs and names such as ECONNRESET. There are few of these codes, so they can be labels. */
const labelCodes = /^([0-9A-Z]{5}|E[A-Z_]{3,14})$/;

function errorLabel(error: unknown): string {
  const code = errorCode(error);
  if (code !== undefined && labelCodes.test(code)) return code;
  const isTimeout = Error.isError(error) && /timeout|timed ?out/i.test(`${error.name} ${error.message}`);
  return isTimeout ? 'timeout' : 'other';
}
