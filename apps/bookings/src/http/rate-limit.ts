// Limits the requests per minute of each subject of a client, and of the client as a whole. The counts are in
// PostgreSQL, so the limits hold over all instances (docs/behaviour.md, "Rate limits").
import { createHash } from 'node:crypto';
import type { Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Caller } from '../auth/caller.ts';
import { apiError } from '../errors.ts';

/**
 * Counts a request and resolves to the RateLimit headers of its response.
 * @throws {ApiError} 429 if the client, or the client together with its subject, is over its limit
 */
export type RateLimit = (caller: Caller) => Promise<Readonly<Record<string, string>>>;

const windowSeconds = 60;
/**
 * A client can act for several subjects (the `sub` of its access tokens). The limit for all of them together is this
 * many times the limit for one subject.
 */
const clientFactor = 10;

/** Returns undefined if `requestsPerMinute` is 0, which switches the limit off. */
export function createRateLimit(
  db: Database,
  requestsPerMinute: number,
  onError: (error: unknown) => void,
): RateLimit | undefined {
  if (requestsPerMinute === 0) return undefined;
  const limiterOf = (keyPrefix: string, points: number) =>
    new RateLimiterPostgres({
      storeClient: db.connections.pool,
      storeType: 'pool',
      tableName: 'rate_limit',
      // A migration creates the table, so rate-limiter-flexible must not create it.
      tableCreated: true,
      keyPrefix,
      points,
      duration: windowSeconds,
      // Further requests of a caller over its limit are rejected without a query.
      inMemoryBlockOnConsumed: points + 1,
    });
  const bySubject = limiterOf('subject', requestsPerMinute);
  const byClient = limiterOf('client', requestsPerMinute * clientFactor);
  return async ({ clientId, subject }) => {
    try {
      const headers = headersOf(requestsPerMinute, await bySubject.consume(keyOf(clientId, subject)));
      await byClient.consume(keyOf(clientId));
      return headers;
    } catch (error) {
      // If a limit is exceeded, rate-limiter-flexible throws the count instead of an error.
      if (error instanceof RateLimiterRes) {
        const headers = headersOf(requestsPerMinute, error);
        throw apiError('ERR00429', { headers: { ...headers, 'Retry-After': headers['RateLimit-Reset'] } });
      }
      // The request could not be counted, and is served nevertheless. If it needs the database, its own query reports
      // that the database is unavailable.
      onError(error);
      return {};
    }
  };
}

/**
 * Returns the header fields of draft-ietf-httpapi-ratelimit-headers, and their older forms with one value each
 * (`RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`). They always describe the limit of one subject, because
 * a caller sees only its own requests. The name "client" of the policy means the caller. If the limit of all subjects
 * of a client is exceeded, only the time until the reset comes from that limit.
 */
function headersOf(requestsPerMinute: number, { remainingPoints, msBeforeNext }: RateLimiterRes) {
  const remaining = String(Math.max(0, remainingPoints));
  const resetSeconds = String(Math.max(1, Math.ceil(msBeforeNext / 1000)));
  return {
    'RateLimit-Policy': `"client";q=${requestsPerMinute};w=${windowSeconds}`,
    RateLimit: `"client";r=${remaining};t=${resetSeconds}`,
    'RateLimit-Limit': String(requestsPerMinute),
    'RateLimit-Remaining': remaining,
    'RateLimit-Reset': resetSeconds,
  };
}

/** The key of a counter. The ids are hashed, because the key column has 255 characters and ids may be longer. */
function keyOf(...ids: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(ids)).digest('base64url');
}
