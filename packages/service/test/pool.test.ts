import { describe, expect, test } from '@jest/globals';
import { Pool, type Pooled } from '../src/database/pool.ts';

interface Fake extends Pooled {
  readonly id: number;
  usable: boolean;
  closed: boolean;
}

function setUp(options: { max?: number; waitAtMost?: number; idleAtMost?: number; failing?: () => boolean } = {}) {
  const { max = 2, waitAtMost = 1_000, idleAtMost = 60_000, failing = () => false } = options;
  const opened: Fake[] = [];
  const pool = new Pool<Fake>({
    max,
    waitAtMost,
    idleAtMost,
    open: async () => {
      if (failing()) throw new Error('refused');
      const connection = { id: opened.length, usable: true, closed: false };
      opened.push(connection);
      return connection;
    },
    close: async (connection) => {
      connection.closed = true;
    },
    isUsable: ({ usable }) => usable,
  });
  return { pool, opened, get: () => pool.acquire().promise };
}

describe('the pool', () => {
  test('opens no more than its limit, and who waits is served in order', async () => {
    const { pool, opened, get } = setUp();
    const [a, b] = [await get(), await get()];
    const order: string[] = [];
    const waiting = [get().then(() => order.push('first')), get().then(() => order.push('second'))];
    expect(pool.numPendingAcquires()).toBe(2);
    pool.release(b);
    pool.release(a);
    await Promise.all(waiting);
    expect(order).toEqual(['first', 'second']);
    expect(opened).toHaveLength(2);
    expect([pool.numUsed(), pool.numFree()]).toEqual([2, 0]);
  });

  test('hands an idle one out at once', async () => {
    const { pool, get } = setUp();
    expect(pool.take()).toBeUndefined();
    const connection = await get();
    pool.release(connection);
    expect(pool.take()).toBe(connection);
  });

  test('takes one back only once', async () => {
    const { pool, get } = setUp();
    const connection = await get();
    expect([pool.release(connection), pool.release(connection)]).toEqual([true, false]);
    expect(pool.numFree()).toBe(1);
  });

  test('closes what is broken or of no use any more, and opens another', async () => {
    const { pool, opened, get } = setUp({ max: 1 });
    const first = await get();
    const second = get();
    pool.release(first, true);
    expect([(await second).id, first.closed]).toEqual([1, true]);
    pool.release(await second);
    (opened[1] as Fake).usable = false;
    expect(pool.take()).toBeUndefined();
    expect((await get()).id).toBe(2);
  });

  test('tells who waits that opening failed, and opens again for the next', async () => {
    let fails = 1;
    const { pool, get } = setUp({ max: 1, failing: () => fails-- > 0 });
    const [first, second] = [get(), get()];
    await expect(first).rejects.toThrow('refused');
    expect((await second).id).toBe(0);
    expect(pool.numUsed()).toBe(1);
  });

  test('lets who waits have one that is open when no more can be opened', async () => {
    let full = false;
    const { pool, get } = setUp({ failing: () => full });
    const connection = await get();
    full = true;
    const waiting = get();
    await new Promise((resolve) => pool.once('createFail', resolve));
    pool.release(connection);
    expect(await waiting).toBe(connection);
  });

  test('refuses who has waited too long', async () => {
    const { pool, get } = setUp({ max: 1, waitAtMost: 10 });
    const connection = await get();
    await expect(get()).rejects.toMatchObject({ name: 'TimeoutError' });
    pool.release(connection);
    expect(pool.take()).toBe(connection);
  });

  test('closes once all are given back, and refuses who comes later', async () => {
    const { pool, opened, get } = setUp();
    const [used, idle] = [await get(), await get()];
    pool.release(idle);
    const closed = Promise.all([pool.destroy(), pool.destroy()]);
    await expect(get()).rejects.toThrow('closed');
    pool.release(used);
    await closed;
    expect(opened.map((connection) => connection.closed)).toEqual([true, true]);
  });
});
