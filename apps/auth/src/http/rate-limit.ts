// Limits how many requests each client can send per minute to this process. rate-limiter-flexible is not used, because
// oidc-provider needs the result synchronously.

/** Limits the memory. Above it, the count of the client that has been idle for the longest time is deleted. */
const maxClients = 10_000;

/**
 * Counts one request under a client id, with the address for a public client. Returns 0 if it is allowed, or else the
 * seconds until a request is allowed again.
 */
export type RateLimit = (clientKey: string) => number;

/** 0 means no limit. A new count begins with each full minute of the clock. */
export function createRateLimit(perMinute: number, now: () => number = Date.now): RateLimit {
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
    // Deleting a key and setting it again moves it to the end.
    counts.delete(clientKey);
    if (counts.size >= maxClients) counts.delete(counts.keys().next().value as string);
    counts.set(clientKey, count);
    return count > perMinute ? Math.max(1, Math.ceil(((minute + 1) * 60_000 - now()) / 1000)) : 0;
  };
}
