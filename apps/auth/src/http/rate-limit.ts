// Limits how many token requests each client can send per minute to this process.
//
// We do not use the library rate-limiter-flexible here, because its RateLimiterMemory returns a promise. oidc-provider
// needs the result synchronously.

/**
 * The maximum number of clients with a count, which limits the memory. If there are more, the count of the client whose
 * last request is the oldest is deleted. Requests of many new clients therefore do not reset the counts of clients that
 * continue to send requests.
 */
const maxClients = 10_000;

/**
 * Counts one request. Returns 0 if this request is allowed, or else the seconds after which a request is allowed again.
 */
export type RateLimit = (clientKey: string) => number;

/** If `perMinute` is 0, there is no limit. A new count begins with each full minute of the clock. */
export function createRateLimit(perMinute: number, now: () => number = Date.now): RateLimit {
  let window = 0;
  let counts = new Map<string, number>();
  return (clientKey) => {
    if (perMinute === 0) return 0;
    const current = Math.floor(now() / 60_000);
    if (current !== window) {
      window = current;
      counts = new Map();
    }
    const count = (counts.get(clientKey) ?? 0) + 1;
    // Deleting first moves the key to the end of the map, which iterates in the order of insertion.
    counts.delete(clientKey);
    if (counts.size >= maxClients) counts.delete(counts.keys().next().value as string);
    counts.set(clientKey, count);
    return count > perMinute ? Math.max(1, Math.ceil(((window + 1) * 60_000 - now()) / 1000)) : 0;
  };
}
