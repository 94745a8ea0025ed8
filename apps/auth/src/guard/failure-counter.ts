// Counts failures and other events per key, with the library rate-limiter-flexible. The counts are in the PostgreSQL
// table `guard_count`, so all instances share them.
import { asPgClient, type Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';

export interface Count {
  readonly failures: number;
  readonly limit: number;
  /** The seconds until the count becomes zero again. A whole number that is at least 1. */
  readonly resetIn: number;
}

/** Each function takes the key whose events are counted. */
export interface FailureCounter {
  readonly read: (key: string) => Promise<Count>;
  readonly add: (key: string) => Promise<Count>;
  /** Undoes one `add`. */
  readonly subtract: (key: string) => Promise<void>;
  readonly reset: (key: string) => Promise<void>;
}

export interface CounterOptions {
  /** The name of the counter. Counters with different names count the same key separately. */
  readonly name: string;
  readonly limit: number;
  /** In seconds. Events are counted in a window of this length, which begins with the first event of the key. */
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
          // If the limit is exceeded, the library throws the count instead of an error.
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
