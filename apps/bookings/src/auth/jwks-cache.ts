// Caches the public signing keys of the authorization server.
//
// The cache refreshes itself in the background, and immediately when a token has a `kid` that is not in the cache.
// While the authorization server is unavailable, the keys of the last successful fetch stay valid.
//
// The library jwks-rsa parses the keys, but its own cache does not suit us for two reasons. It caches each key
// separately, so a key that was removed from the JWKS would stay valid until its cache entry expires. And it fetches no
// keys before the first request.
import { withJitter } from '../jitter.ts';
import { fetchVerificationKeys, type VerificationKey, type VerificationKeys } from './jwks-fetcher.ts';

export interface JwksCache {
  /**
   * Returns the key with this `kid`, or undefined if it is unknown. Fetches the JWKS if the key is not in the cache and
   * the limit of such fetches (`unknownKidInterval`) is not used up.
   * @throws {NoSigningKeysError} if no fetch has succeeded yet
   */
  find(kid: string | undefined): Promise<VerificationKey | undefined>;
  /** Whether the key is in the cache. Never fetches the JWKS. */
  has(kid: string | undefined): boolean;
  /** Milliseconds since the last successful fetch; undefined before the first one. */
  age(): number | undefined;
  /** Begins the first fetch, and refreshes the keys in the background from then on. */
  start(): void;
  /** Ends the refreshes in the background. */
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
   * The minimum time between two fetches for unknown kids in milliseconds, after a burst of five fetches. Without this
   * limit, anybody could flood the authorization server by sending tokens with made-up kids.
   *
   * During such a flood, the keys are fetched once in each interval. The interval must be shorter than the time that
   * auth waits between publishing a key and signing with it (KEY_PUBLISH_DELAY). The new key is then known before it
   * signs tokens. Otherwise, valid tokens could be rejected.
   */
  readonly unknownKidInterval?: number;
}

/**
 * When auth removes a key, this service must reject the tokens of the key within a minute. All instances of auth serve
 * the new JWKS after at most 2 s. Caches between the services may store the old JWKS for 15 s. This cache fetches the
 * JWKS again after at most 36 s: the interval is 30 s, plus or minus a random part of up to 20 %.
 */
const defaultRefreshInterval = 30_000;
const maxUnknownKidBurst = 5;
/** The delay after one failed fetch, in milliseconds. Each further failed fetch doubles the delay. */
const minRetryDelay = 500;
const maxRetryDelay = 30_000;
/** Without keys every request fails, so the cache retries about every 2 s. */
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

  /** Fetches the JWKS. Never rejects. A call during a fetch waits for that fetch and starts no other. */
  const refresh = (): Promise<void> => {
    currentFetch ??= fetchVerificationKeys({ issuer, jwksUri, timeoutMs: timeout })
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
    timer = setTimeout(() => void refresh(), withJitter(nextDelay(), 0.2));
    timer.unref();
  };

  const nextDelay = (): number => {
    if (consecutiveErrors === 0) return refreshInterval;
    const max = fetchedAt === undefined ? maxRetryDelayWithoutKeys : maxRetryDelay;
    return Math.min(max, minRetryDelay * 2 ** (consecutiveErrors - 1));
  };

  // A token bucket limits the fetches for unknown kids: one fetch becomes available per interval. The check is
  // synchronous, so the first request with a new kid begins a fetch immediately, and simultaneous requests with this
  // kid share the fetch. RateLimiterMemory of rate-limiter-flexible is not used, because its check is asynchronous.
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
