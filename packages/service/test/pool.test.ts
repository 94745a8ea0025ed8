// Tests the connection pool with fake connections.
import { describe, expect, test } from '@jest/globals';
import { Pool, type PooledConnection } from '../src/database/pool.ts';

class FakeConnection implements PooledConnection {
  inUse = false;
  idleSince = 0;
  isUsable = true;
  isClosed = false;
  readonly id: number;

  constructor(id: number) {
    this.id = id;
  }

  /** These connections run no statement, so none is overdue. */
  closeIfOverdue(): void {}

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

interface Options {
  readonly max?: number;
  /** In ms. */
  readonly acquireTimeoutMs?: number;
  readonly openFails?: () => boolean;
}

function createPool({ max = 2, acquireTimeoutMs = 1_000, openFails = () => false }: Options = {}) {
  const opened: FakeConnection[] = [];
  const pool = new Pool<FakeConnection>({
    max,
    acquireTimeoutMs,
    idleTimeoutMs: 60_000,
    open: async () => {
      if (openFails()) throw new Error('connection refused');
      const connection = new FakeConnection(opened.length);
      opened.push(connection);
      return connection;
    },
  });
  return { pool, opened, acquire: () => pool.acquire().promise };
}

describe('acquire', () => {
  test('opens at most `max` connections, and serves waiting callers in the order of their calls', async () => {
    const { pool, opened, acquire } = createPool();
    const [connection1, connection2] = [await acquire(), await acquire()];
    const order: string[] = [];
    const waiting = [acquire().then(() => order.push('first')), acquire().then(() => order.push('second'))];
    expect(pool.numPendingAcquires()).toBe(2);
    pool.release(connection2);
    pool.release(connection1);
    await Promise.all(waiting);
    expect(order).toEqual(['first', 'second']);
    expect(opened).toHaveLength(2);
    expect([pool.numUsed(), pool.numFree()]).toEqual([2, 0]);
  });

  test('rejects if no connection can be opened, and tries again for the next caller', async () => {
    let failures = 1;
    const { pool, acquire } = createPool({ max: 1, openFails: () => failures-- > 0 });
    const [first, second] = [acquire(), acquire()];
    await expect(first).rejects.toThrow('connection refused');
    expect((await second).id).toBe(0);
    expect(pool.numUsed()).toBe(1);
  });

  test('waits for an open connection if no further connection can be opened', async () => {
    let isServerFull = false;
    const { pool, acquire } = createPool({ openFails: () => isServerFull });
    const connection = await acquire();
    isServerFull = true;
    const waiting = acquire();
    await new Promise<void>((resolve) => pool.once('failure', () => resolve()));
    pool.release(connection);
    expect(await waiting).toBe(connection);
  });

  test('rejects with a TimeoutError after the acquire timeout', async () => {
    const { pool, acquire } = createPool({ max: 1, acquireTimeoutMs: 10 });
    const connection = await acquire();
    await expect(acquire()).rejects.toMatchObject({ name: 'TimeoutError' });
    pool.release(connection);
    expect(pool.takeIdle()).toBe(connection);
  });
});

describe('takeIdle', () => {
  test('returns an idle connection synchronously', async () => {
    const { pool, acquire } = createPool();
    expect(pool.takeIdle()).toBeUndefined();
    const connection = await acquire();
    pool.release(connection);
    expect(pool.takeIdle()).toBe(connection);
  });
});

describe('release', () => {
  test('has no effect if it is called a second time', async () => {
    const { pool, acquire } = createPool();
    const connection = await acquire();
    expect([pool.release(connection), pool.release(connection)]).toEqual([true, false]);
    expect(pool.numFree()).toBe(1);
  });

  test('closes connections that are broken or unusable, and the pool opens new ones', async () => {
    const { pool, acquire } = createPool({ max: 1 });
    const broken = await acquire();
    const waiting = acquire();
    const isBroken = true;
    pool.release(broken, isBroken);
    const unusable = await waiting;
    expect([unusable.id, broken.isClosed]).toEqual([1, true]);
    pool.release(unusable);
    unusable.isUsable = false;
    expect(pool.takeIdle()).toBeUndefined();
    expect((await acquire()).id).toBe(2);
  });
});

describe('destroy', () => {
  test('waits until all connections are released and closed, and later calls of acquire reject', async () => {
    const { pool, opened, acquire } = createPool();
    const [used, idle] = [await acquire(), await acquire()];
    pool.release(idle);
    const destroyed = Promise.all([pool.destroy(), pool.destroy()]);
    await expect(acquire()).rejects.toThrow('closed');
    pool.release(used);
    await destroyed;
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });
});
