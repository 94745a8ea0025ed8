// Limits the requests per minute of each client and subject, over all instances (docs/behaviour.md, "Rate limits").
import { hash } from 'node:crypto';
import { asPgClient, type Database } from '@bay-booking/service/database/database';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Caller } from '../auth/caller.ts';
import { tooManyRequests } from '../errors.ts';

/**
 * Counts a request and returns the RateLimit headers of its response.
 * @throws {ApiError} 429
 */
export type CallerRateLimit = (caller: Caller) => Promise<Readonly<Record<string, string>>>;

const windowSeconds = 60;
/** The limit for all subjects of a client, as a multiple of the limit for one subject. */
const clientFactor = 10;

/** The value 0 means no limit. */
export function createCallerRateLimit(
  db: Database,
  requestsPerMinute: number,
  onError: (error: unknown) => void,
): CallerRateLimit | undefined {
  if (requestsPerMinute === 0) return undefined;
  const limiterOf = (keyPrefix: string, points: number) =>
    new RateLimiterPostgres({
      storeClient: asPgClient(db),
      storeType: 'client',
      tableName: 'rate_limit',
      // A migration creates the table.
      tableCreated: true,
      keyPrefix,
      points,
      duration: windowSeconds,
      // Further requests of a caller over its limit are rejected without a query.
      inMemoryBlockOnConsumed: points + 1,
    });
  const bySubject = limiterOf('subject', requestsPerMinute);
  const byClient = limiterOf('client', requestsPerMinute * clientFactor);
  return async ({ clientId, subject, facilities }) => {
    try {
      const headers = headersOf(requestsPerMinute, await bySubject.consume(keyOf(clientId, subject)));
      // Anybody can get a token without facilities from a public client. Such tokens must not use up the client's
      // limit.
      if (facilities.length > 0) await byClient.consume(keyOf(clientId));
      return headers;
    } catch (error) {
      // rate-limiter-flexible throws the count if a limit is exceeded.
      if (error instanceof RateLimiterRes) {
        const headers = headersOf(requestsPerMinute, error);
        throw tooManyRequests(
          'The limit of requests per minute is reached',
          Number(headers['RateLimit-Reset']),
          headers,
        );
      }
      // The request is still served. If it needs the database, its own statement reports the problem.
      onError(error);
      return {};
    }
  };
}

/**
 * Returns the fields of draft-ietf-httpapi-ratelimit-headers and their older forms, always for the limit of one
 * subject. If the limit of the whole client is exceeded, only the time until the reset comes from that limit.
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

/** The ids are hashed, because the key column has 255 characters and ids may be longer. */
const keyOf = (...ids: readonly string[]): string => hash('sha256', JSON.stringify(ids), 'base64url');
