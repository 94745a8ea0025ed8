// Counts failures and other events under keys, in the table `guard_count`, which all instances share.
import { asPgClient, type Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';

export interface Count {
  readonly failures: number;
  readonly limit: number;
  /** The seconds until the count expires: 1 or more. */
  readonly resetIn: number;
}

export interface CounterOptions {
  readonly name: string;
  /** The value of `limit` in each `Count`. The counter does not enforce it. */
  readonly limit: number;
  /** A count expires this many seconds after its first event. */
  readonly windowSeconds: number;
}

export type FailureCounterFactory = ReturnType<typeof createFailureCounterFactory>;

export const createFailureCounterFactory =
  (db: Database) =>
  ({ name, limit, windowSeconds }: CounterOptions) => {
    const limiter = new RateLimiterPostgres({
      storeClient: asPgClient(db),
      storeType: 'client',
      tableName: 'guard_count',
      // A migration creates the table, and accounts/expired-rows-store.ts deletes expired rows.
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
      read: async (key: string) => toCount(await limiter.get(key)),
      add: async (key: string): Promise<Count> => {
        try {
          return toCount(await limiter.consume(key));
        } catch (result) {
          // If the limit is exceeded, rate-limiter-flexible throws the count instead of an error.
          if (result instanceof RateLimiterRes) return toCount(result);
          throw result;
        }
      },
      /** Undoes one `add`. */
      subtract: async (key: string) => {
        await limiter.reward(key);
      },
      reset: async (key: string) => {
        await limiter.delete(key);
      },
    };
  };
