// Counts failures and other events, with a separate count for each key. The counts are stored in the table
// `guard_count`, so all instances share them. The library rate-limiter-flexible reads and writes the table, and ignores
// expired counts. A cleanup job deletes the rows of expired counts (accounts/expired-rows-store.ts).
import type { Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';

export interface Count {
  readonly failures: number;
  readonly limit: number;
  /** The number of seconds until the count expires, rounded up. It is 1 or more. */
  readonly resetIn: number;
}

/** `key` names what is counted, for example a user name or an IP address. */
export interface FailureCounter {
  readonly read: (key: string) => Promise<Count>;
  readonly add: (key: string) => Promise<Count>;
  /** Undoes one `add`. */
  readonly subtract: (key: string) => Promise<void>;
  readonly reset: (key: string) => Promise<void>;
}

export interface CounterOptions {
  /** The name of the counter. A key has a separate count in each counter. */
  readonly name: string;
  /** The value of `limit` in each `Count`. The counter does not enforce the limit: it also counts events above it. */
  readonly limit: number;
  /**
   * The count of a key expires this many seconds after the first event that it counts. The next event begins a new
   * count.
   */
  readonly windowSeconds: number;
}

export type FailureCounterFactory = (options: CounterOptions) => FailureCounter;

export const createFailureCounterFactory =
  (db: Database): FailureCounterFactory =>
  ({ name, limit, windowSeconds }) => {
    const limiter = new RateLimiterPostgres({
      storeClient: db.connections.pool,
      storeType: 'pool',
      tableName: 'guard_count',
      // A migration creates the table, and the cleanup job deletes expired rows. rate-limiter-flexible must do neither.
      tableCreated: true,
      clearExpiredByTimeout: false,
      keyPrefix: name,
      points: limit,
      duration: windowSeconds,
    });
    const toCount = (result: RateLimiterRes | null): Count => ({
      failures: result?.consumedPoints ?? 0,
      limit,
      resetIn: Math.max(1, Math.ceil((result?.msBeforeNext ?? 0) / 1000)),
    });
    return {
      read: async (key) => toCount(await limiter.get(key)),
      add: async (key) => {
        try {
          return toCount(await limiter.consume(key));
        } catch (result) {
          // If the limit is exceeded, rate-limiter-flexible throws the count instead of an error.
          if (result instanceof RateLimiterRes) return toCount(result);
          throw result;
        }
      },
      subtract: async (key) => {
        await limiter.reward(key);
      },
      reset: async (key) => {
        await limiter.delete(key);
      },
    };
  };
