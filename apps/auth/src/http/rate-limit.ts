// Limits how many requests each client can send per minute to the token endpoint and the device authorization endpoint
// of this process. The requests of a public client are counted separately for each address (oidc/clients/policy.ts).
//
// We do not use the library rate-limiter-flexible here, because its RateLimiterMemory returns a promise. oidc-provider
// needs the result synchronously.

/**
 * The maximum number of counts, which limits the memory. If there are more clients, the count of the client that has
 * been idle for the longest time is deleted. Requests of many new clients therefore do not delete the count of a client
 * that continues to send requests.
 */
const maxClients = 10_000;

/**
 * Counts one request under a key: a client id, with the address for a public client. Returns 0 if it is allowed, or
 * else the number of seconds until a request is allowed again.
 */
export type RateLimit = (clientKey: string) => number;

/**
 * Creates a limit of `perMinute` requests per client. 0 means no limit. A new count begins with each full minute of the
 * clock.
 */
export function createRateLimit(perMinute: number, now: () => number = Date.now): RateLimit {
  /** The minute to which the counts belong, as a number of minutes since 1970. */
  let minute = 0;
  let counts = new Map<string, number>();
  return (clientKey) => {
    if (perMinute === 0) return 0;
    const currentMinute = Math.floor(now() / 60_000);
    if (currentMinute !== minute) {
      minute = currentMinute;
      counts = new Map();
    }
    const count = (counts.get(clientKey) ?? 0) + 1;
    // Deleting a key and setting it again moves it to the end. The first key has therefore been idle for longest.
    counts.delete(clientKey);
    if (counts.size >= maxClients) counts.delete(counts.keys().next().value as string);
    counts.set(clientKey, count);
    return count > perMinute ? Math.max(1, Math.ceil(((minute + 1) * 60_000 - now()) / 1000)) : 0;
  };
}
