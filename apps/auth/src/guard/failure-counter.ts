// How many times has this happened lately, over every instance? Counts in PostgreSQL by rate-limiter-flexible, whose table a migration
// makes.
import { asPgClient, type Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';

export interface Count {
  readonly failures: number;
  readonly limit: number;
  /** Whole seconds, one at least. */
  readonly resetIn: number;
}

export interface FailureCounter {
  readonly limit: number;
  readonly read: (key: string) => Promise<Count>;
  readonly add: (key: string) => Promise<Count>;
  readonly forget: (key: string) => Promise<void>;
}

export interface CounterOptions {
  readonly name: string;
  readonly limit: number;
  /** Seconds from the first on. */
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
      limit,
      read: async (key) => toCount(await limiter.get(key)),
      add: async (key) => {
        try {
          return toCount(await limiter.consume(key));
        } catch (refusal) {
          // The library says "over the limit" by rejecting with the count.
          if (refusal instanceof RateLimiterRes) return toCount(refusal);
          throw refusal;
        }
      },
      forget: async (key) => {
        await limiter.delete(key);
      },
    };
  };
