// Counts failures and other events under keys, in the table `guard_count`, which all instances share.
import { asPgClient, type Database, type Queryable } from '@bay-booking/service/database/database';
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
    const limiterOn = (on: Queryable): RateLimiterPostgres =>
      new RateLimiterPostgres({
        storeClient: asPgClient(on),
        storeType: 'client',
        tableName: 'guard_count',
        // A migration creates the table, and cleanup-store.ts deletes expired rows.
        tableCreated: true,
        clearExpiredByTimeout: false,
        keyPrefix: name,
        points: limit,
        duration: windowSeconds,
      });
    const limiter = limiterOn(db);
    const toCount = (result: RateLimiterRes | null): Count => ({
      failures: result?.consumedPoints ?? 0,
      limit,
      resetIn: Math.max(1, Math.ceil((result?.msBeforeNext ?? 0) / 1000)),
    });
    return {
      read: async (key: string) => toCount(await limiter.get(key)),
      /** In a transaction, `on` is the transaction: all may wait for a second connection when the pool has no more. */
      add: async (key: string, on?: Queryable): Promise<Count> => {
        try {
          return toCount(await (on ? limiterOn(on) : limiter).consume(key));
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
