// Limits the token requests of each client to a number per minute, counted in this process. This is our own code
// because oidc-provider needs the result synchronously, and RateLimiterMemory of rate-limiter-flexible returns a
// promise.

/**
 * Bounds the memory for counters. Above it, the client that was counted longest ago is forgotten. So a flood of new
 * names does not reset the counts of clients that keep sending requests.
 */
const maxClients = 10_000;

/**
 * Counts one request. Returns the seconds to wait until the next one is allowed, or 0 if this request is within the
 * limit.
 */
export type RateLimit = (clientKey: string) => number;

/** A limit of 0 requests per minute means no limit. Windows are aligned to the full minute. */
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
