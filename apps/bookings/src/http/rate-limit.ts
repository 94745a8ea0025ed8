// How often may a client ask? RATE_LIMIT_PER_MINUTE, counted in PostgreSQL over every instance (contract section 7).
import { asPgClient, type Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { apiError } from '../errors.ts';

/** Resolves to the headers that tell the client how much is left. */
export type Limit = (clientId: string) => Promise<Readonly<Record<string, string>>>;

const minute = 60;

export function createRateLimit(
  db: Database,
  perMinute: number,
  onFailure: (error: unknown) => void,
): Limit | undefined {
  if (perMinute === 0) return undefined;
  const limiter = new RateLimiterPostgres({
    storeClient: asPgClient(db),
    storeType: 'client',
    tableName: 'rate_limit',
    tableCreated: true,
    keyPrefix: 'client',
    points: perMinute,
    duration: minute,
    // A client over its limit is refused without asking the database again.
    inMemoryBlockOnConsumed: perMinute + 1,
  });
  const headersOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes): Record<string, string> => {
    const left = String(Math.max(0, remainingPoints));
    const reset = String(Math.max(1, Math.ceil(msBeforeNext / 1000)));
    return {
      'RateLimit-Policy': `"client";q=${perMinute};w=${minute}`,
      RateLimit: `"client";r=${left};t=${reset}`,
      'RateLimit-Limit': String(perMinute),
      'RateLimit-Remaining': left,
      'RateLimit-Reset': reset,
    };
  };
  return async (clientId) => {
    try {
      return headersOf(await limiter.consume(clientId));
    } catch (error) {
      if (error instanceof RateLimiterRes) {
        const headers = headersOf(error);
        throw apiError('ERR00429', { headers: { ...headers, 'Retry-After': headers['RateLimit-Reset'] ?? '60' } });
      }
      // Not to count is better than not to serve; what needs the database will say so itself.
      onFailure(error);
      return {};
    }
  };
}
