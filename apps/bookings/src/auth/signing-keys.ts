// Keeps the authorization server's public signing keys. They are fetched every 30 s and for an unknown key. While the
// authorization server is unavailable, the last keys stay valid.
//
// The cache and the rate limit of jwks-rsa are not used: the limit also counts known keys whose cache entry has
// expired, so invented key ids would make the service reject valid tokens.
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';
import { JwksClient } from 'jwks-rsa';

interface SigningKey {
  readonly key: KeyObject;
  /** The only algorithm that the key may be used with, if the JWKS names one. */
  readonly alg: string | undefined;
}

export class NoSigningKeysError extends Error {
  override readonly name = 'NoSigningKeysError';
}

export interface SigningKeysOptions {
  /** No slash at the end. */
  readonly issuer: string;
  /** Default: the URL that discovery returns. */
  readonly jwksUri?: string | undefined;
  readonly logger: Logger;
  readonly onFetchError?: () => void;
  readonly timeout?: number;
  /**
   * The minimum time between two fetches for unknown keys. Must be shorter than the 30 s from the publication of a key
   * to its first signature: a new key must be known before it signs.
   */
  readonly unknownKeyInterval?: number;
}

export type IssuerKeys = ReturnType<typeof createSigningKeys>;

/** A removed key must be unknown after a minute: 2 s until auth notices, 15 s in caches, 30 s here. */
const refreshIntervalMs = 30_000;
/** While the service has no keys, the loop fetches them at this interval. */
const checkIntervalMs = 2_000;

export function createSigningKeys(options: SigningKeysOptions) {
  const { issuer, jwksUri, logger, onFetchError, timeout = 4_000, unknownKeyInterval = 5_000 } = options;
  const client = new JwksClient({
    jwksUri: jwksUri ?? issuer,
    cache: false,
    fetcher: async () => {
      const uri = jwksUri ?? (await discoverJwksUri(issuer, timeout));
      return (await fetchJson(uri, timeout)) as { keys: unknown };
    },
  });
  let keys: ReadonlyMap<string | undefined, SigningKey> = new Map();
  let fetchedAt: number | undefined;
  let attemptedAt = Number.NEGATIVE_INFINITY;
  let unknownKeyAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  const fetchKeys = async (): Promise<void> => {
    attemptedAt = performance.now();
    try {
      // Fails if there is no signing key. `kid` and `alg` may be missing, although their types say otherwise.
      const found = await client.getSigningKeys();
      keys = new Map(found.map((key) => [key.kid, { key: createPublicKey(key.getPublicKey()), alg: key.alg }]));
      fetchedAt = performance.now();
    } catch (err) {
      onFetchError?.();
      logger.warn({ err }, 'signing keys not fetched');
    }
  };

  /** Never rejects. Simultaneous calls share one fetch. */
  const refresh = (): Promise<void> => {
    fetching ??= fetchKeys().finally(() => {
      fetching = undefined;
    });
    return fetching;
  };

  /** If the authorization server has a single key, a token needs no `kid` (RFC 7515 section 4.1.4). */
  const lookUp = (kid: string | undefined): SigningKey | undefined =>
    kid === undefined && keys.size === 1 ? keys.values().next().value : keys.get(kid);

  return {
    /** @throws {NoSigningKeysError} if no fetch has succeeded yet */
    find: async (kid: string | undefined): Promise<SigningKey | undefined> => {
      const known = lookUp(kid);
      if (known) return known;
      if (fetching) await fetching;
      else if (performance.now() - unknownKeyAt >= unknownKeyInterval) {
        unknownKeyAt = performance.now();
        await refresh();
      }
      if (fetchedAt === undefined) throw new NoSigningKeysError('no signing keys have been fetched yet');
      return lookUp(kid);
    },
    has: (kid: string | undefined): boolean => lookUp(kid) !== undefined,
    /** The milliseconds since the last successful fetch. */
    age: (): number | undefined => (fetchedAt === undefined ? undefined : performance.now() - fetchedAt),
    /** Returns a function that stops the refreshes in the background. */
    start: (): (() => Promise<void>) => {
      const run = async () => {
        if (fetchedAt === undefined || performance.now() - attemptedAt >= refreshIntervalMs) await refresh();
      };
      const loop = startLoop({ name: 'signing keys', intervalMs: checkIntervalMs, run, logger });
      void loop.wake();
      return loop.stop;
    },
  };
}

async function discoverJwksUri(issuer: string, timeout: number): Promise<string> {
  const metadata = await fetchJson(`${issuer}/.well-known/openid-configuration`, timeout);
  if (typeof metadata.issuer !== 'string' || metadata.issuer.replace(/\/+$/, '') !== issuer)
    throw new Error(`discovery at ${issuer} returned another issuer`);
  if (typeof metadata.jwks_uri !== 'string' || !/^https?:$/.test(URL.parse(metadata.jwks_uri)?.protocol ?? ''))
    throw new Error(`discovery at ${issuer} returned no jwks_uri`);
  return metadata.jwks_uri;
}

async function fetchJson(uri: string, timeout: number): Promise<Record<string, unknown>> {
  const json: unknown = JSON.parse(await fetchText(uri, timeout));
  if (typeof json !== 'object' || json === null) throw new Error(`${uri} did not return a JSON object`);
  return json as Record<string, unknown>;
}

/** Operators configure URLs with or without a trailing slash. */
export function withAndWithoutSlash(url: string): [string, string] {
  const base = url.replace(/\/$/, '');
  return [base, `${base}/`];
}

const maxResponseBytes = 1_000_000;

export async function fetchText(uri: string, timeout: number): Promise<string> {
  const signal = AbortSignal.timeout(timeout);
  const request = () => fetch(uri, { signal, redirect: 'error' });
  // When an instance of auth stops, its connections break. Another instance may respond to the second attempt.
  const response = await request().catch((error: unknown) => (signal.aborted ? Promise.reject(error) : request()));
  if (!response.ok) throw new Error(`${uri} returned status ${response.status}`);
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.length > maxResponseBytes) throw new Error(`${uri} returned more than ${maxResponseBytes} bytes`);
  }
  return text;
}
