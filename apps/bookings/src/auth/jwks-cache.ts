// Caches the public signing keys of the authorization server.
//
// The cache refreshes itself in the background, and at once for a `kid` that it does not know. While the authorization
// server is away, the last keys stay valid.
//
// jwks-rsa parses the keys, but its own cache does not fit: it caches each key by itself, so a key that was withdrawn
// from the JWKS would stay valid until its cache entry expires, and it does not fetch keys before the first request.
import { fetchVerificationKeys, type VerificationKey, type VerificationKeys } from './jwks-fetcher.ts';

export interface JwksCache {
  /**
   * Fetches the keys if `kid` is unknown.
   * @throws {NoSigningKeysError} if no keys were ever fetched
   */
  find(kid: string | undefined): Promise<VerificationKey | undefined>;
  /** Whether a key is cached. Never fetches. */
  has(kid: string | undefined): boolean;
  /** Milliseconds since the last successful fetch; undefined before the first one. */
  age(): number | undefined;
  start(): void;
  close(): void;
}

export class NoSigningKeysError extends Error {
  override readonly name = 'NoSigningKeysError';
}

/** All durations are in milliseconds. */
export interface JwksCacheOptions {
  readonly issuer: string;
  readonly jwksUri?: string | undefined;
  readonly onFetchError: (error: unknown) => void;
  readonly timeout?: number;
  readonly refreshInterval?: number;
  /**
   * The time between two fetches for unknown kids, after a burst of five. Without a limit, anybody could flood the
   * authorization server. The time is short, so that tokens with made-up kids delay the fetch of a new key for less
   * time than auth waits between publishing a key and signing with it (KEY_PUBLISH_DELAY).
   */
  readonly unknownKidInterval?: number;
}

/**
 * A key that was removed at auth must be refused within a minute. Auth notices the removal after 2 s, caches between
 * the services may keep the JWKS for 15 s, and a random part of 20 % separates the fetches of several instances.
 */
const defaultRefreshInterval = 30_000;
const maxUnknownKidBurst = 5;
const minRetryDelay = 500;
const maxRetryDelay = 30_000;
/** Without keys every request fails, so the cache retries at least every 2 s. */
const maxRetryDelayWithoutKeys = 2_000;

export function createJwksCache(options: JwksCacheOptions): JwksCache {
  const {
    issuer,
    jwksUri,
    onFetchError,
    timeout = 4_000,
    refreshInterval = defaultRefreshInterval,
    unknownKidInterval = 5_000,
  } = options;
  let keys: VerificationKeys = new Map();
  let fetchedAt: number | undefined;
  let consecutiveErrors = 0;
  let currentFetch: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** Never rejects. Callers that arrive during a fetch share it. */
  const refresh = (): Promise<void> => {
    currentFetch ??= fetchVerificationKeys({ issuer, jwksUri, timeout })
      .then((fetched) => {
        keys = fetched;
        fetchedAt = performance.now();
        consecutiveErrors = 0;
      })
      .catch((error: unknown) => {
        consecutiveErrors += 1;
        onFetchError(error);
      })
      .finally(() => {
        currentFetch = undefined;
        scheduleRefresh();
      });
    return currentFetch;
  };

  const scheduleRefresh = (): void => {
    clearTimeout(timer);
    if (isClosed) return;
    timer = setTimeout(() => void refresh(), nextDelay() * (0.8 + 0.4 * Math.random()));
    timer.unref();
  };

  const nextDelay = (): number => {
    if (consecutiveErrors === 0) return refreshInterval;
    const max = fetchedAt === undefined ? maxRetryDelayWithoutKeys : maxRetryDelay;
    return Math.min(max, minRetryDelay * 2 ** Math.min(consecutiveErrors - 1, 10));
  };

  // This limit is synchronous, unlike RateLimiterMemory, so that all requests with a new key join the first fetch.
  // It is a token bucket: one fetch becomes available per interval.
  let availableFetches = maxUnknownKidBurst;
  let countedAt = performance.now();
  const mayFetchForUnknownKid = (): boolean => {
    const now = performance.now();
    availableFetches = Math.min(maxUnknownKidBurst, availableFetches + (now - countedAt) / unknownKidInterval);
    countedAt = now;
    if (availableFetches < 1) return false;
    availableFetches -= 1;
    return true;
  };

  /** A token needs no `kid` if the authorization server has a single key (RFC 7515 section 4.1.4). */
  const lookUp = (kid: string | undefined): VerificationKey | undefined =>
    kid === undefined && keys.size === 1 ? keys.values().next().value : keys.get(kid);

  return {
    find: async (kid) => {
      const cached = lookUp(kid);
      if (cached) return cached;
      if (currentFetch || mayFetchForUnknownKid()) await refresh();
      if (fetchedAt === undefined) throw new NoSigningKeysError('no signing keys have been fetched yet');
      return lookUp(kid);
    },
    has: (kid) => lookUp(kid) !== undefined,
    age: () => (fetchedAt === undefined ? undefined : performance.now() - fetchedAt),
    start: () => void refresh(),
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
