// Counts events over all instances, in the table `guard_count` of PostgreSQL, with rate-limiter-flexible.
import { asPgClient, type Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';

export interface Count {
  readonly failures: number;
  readonly limit: number;
  /** Whole seconds until the count ends, at least 1. */
  readonly resetIn: number;
}

export interface FailureCounter {
  readonly read: (key: string) => Promise<Count>;
  readonly add: (key: string) => Promise<Count>;
  /** Undoes one `add`. */
  readonly subtract: (key: string) => Promise<void>;
  readonly reset: (key: string) => Promise<void>;
}

export interface CounterOptions {
  /** Keeps the keys of different counters apart. */
  readonly name: string;
  readonly limit: number;
  /** Seconds. The window of a key begins with its first event. */
  readonly window: number;
}

export type CreateFailureCounter = (options: CounterOptions) => FailureCounter;

export const createFailureCounters =
  (db: Database): CreateFailureCounter =>
  ({ name, limit, window }) => {
    const limiter = new RateLimiterPostgres({
      storeClient: asPgClient(db),
      storeType: 'client',
      tableName: 'guard_count',
      tableCreated: true,
      clearExpiredByTimeout: false,
      keyPrefix: name,
      points: limit,
      duration: window,
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
          // Above the limit, the library rejects with the count instead of an error.
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
