// How does the database treat us, and how busy are our connections to it? Gauges of the pool, read when Prometheus asks, and a count of
// the errors by SQLSTATE: 40P01 is a deadlock, 55P03 a lock that came too late, 57014 a statement that took too long.
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import type { Database } from './database.ts';
import { errorCode } from './errors.ts';

interface Pool {
  readonly max: number;
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
  on(event: 'createFail' | 'acquireFail', listener: (id: number, error: unknown) => void): void;
}

/** `databases` by the name that tells them apart, such as `primary`. */
export function collectDatabaseMetrics({ registry }: Metrics, databases: Readonly<Record<string, Database>>): void {
  const pools = Object.entries(databases).map(([name, db]) => [name, db.client.pool as Pool] as const);
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
    help: 'Work that was done once more, after a lost deadlock or serialization race.',
    labelNames: ['pool'],
    registers: [registry],
  });
  const errors = new Counter({
    name: 'database_errors_total',
    help: 'Statements and connections that failed, by SQLSTATE or network error.',
    labelNames: ['pool', 'code'],
    registers: [registry],
  });
  for (const [name, db] of Object.entries(databases)) {
    // A rise from nothing at all is none for Prometheus, and these may come all at once.
    for (const code of ['40P01', '40001', '55P03', '57014']) errors.inc({ pool: name, code }, 0);
    const count = (error: unknown): void => errors.inc({ pool: name, code: boundedCode(error) });
    db.on('query-error', count);
    retries.inc({ pool: name }, 0);
    db.client.on('retry', () => retries.inc({ pool: name }));
    (db.client.pool as Pool).on('createFail', (_id, error) => count(error));
    (db.client.pool as Pool).on('acquireFail', (_id, error) => count(error));
  }
}

/** SQLSTATEs and errno names are few; whatever else an error carries is not a label. */
function boundedCode(error: unknown): string {
  const code = errorCode(error);
  if (code !== undefined && /^([0-9A-Z]{5}|E[A-Z_]{3,14})$/.test(code)) return code;
  return Error.isError(error) && /time(d ?out|out)/i.test(`${error.name} ${error.message}`) ? 'timeout' : 'other';
}
