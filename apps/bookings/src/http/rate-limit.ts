// Limits the requests of each client per minute. The counts are in PostgreSQL, so the limit holds over all instances
// (docs/behaviour.md, "Rate limits").
import { asPgClient, type Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { apiError } from '../errors.ts';

/**
 * Counts a request and resolves to the RateLimit headers of its response.
 * @throws {ApiError} 429 if the client is over its limit
 */
export type RateLimit = (clientId: string) => Promise<Readonly<Record<string, string>>>;

const windowSeconds = 60;

/** Returns undefined if `requestsPerMinute` is 0, which switches the limit off. */
export function createRateLimit(
  db: Database,
  requestsPerMinute: number,
  onError: (error: unknown) => void,
): RateLimit | undefined {
  if (requestsPerMinute === 0) return undefined;
  const limiter = new RateLimiterPostgres({
    storeClient: asPgClient(db),
    storeType: 'client',
    tableName: 'rate_limit',
    tableCreated: true,
    keyPrefix: 'client',
    points: requestsPerMinute,
    duration: windowSeconds,
    // A client over its limit is rejected without a query.
    inMemoryBlockOnConsumed: requestsPerMinute + 1,
  });
  const headersOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes) => {
    const remaining = String(Math.max(0, remainingPoints));
    const resetSeconds = String(Math.max(1, Math.ceil(msBeforeNext / 1000)));
    return {
      'RateLimit-Policy': `"client";q=${requestsPerMinute};w=${windowSeconds}`,
      RateLimit: `"client";r=${remaining};t=${resetSeconds}`,
      'RateLimit-Limit': String(requestsPerMinute),
      'RateLimit-Remaining': remaining,
      'RateLimit-Reset': resetSeconds,
    };
  };
  return async (clientId) => {
    try {
      return headersOf(await limiter.consume(clientId));
    } catch (error) {
      if (error instanceof RateLimiterRes) {
        const headers = headersOf(error);
        throw apiError('ERR00429', { headers: { ...headers, 'Retry-After': headers['RateLimit-Reset'] } });
      }
      // The request is served uncounted. If it needs the database, its own query reports that the database is away.
      onError(error);
      return {};
    }
  };
}
