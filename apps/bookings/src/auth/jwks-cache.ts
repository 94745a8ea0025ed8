// Which keys does the authorization server sign with? jwks-rsa fetches them: early and again and again in the background, at once for
// a kid never seen (at most so often), and while the server is away the last ones seen stay good.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { JwksClient, type SigningKey } from 'jwks-rsa';

export interface VerificationKey {
  readonly key: KeyObject;
  readonly alg: string | undefined;
}

export interface JwksCache {
  /** @throws {NoSigningKeysError} before the first key was seen */
  find(kid: string | undefined): Promise<VerificationKey | undefined>;
  /** Without asking anybody. */
  holds(kid: string | undefined): boolean;
  /** Milliseconds since the keys were last fetched, or undefined before that. */
  age(): number | undefined;
  start(): void;
  close(): void;
}

export class NoSigningKeysError extends Error {
  override readonly name = 'NoSigningKeysError';
}

export interface JwksCacheOptions {
  readonly issuer: string;
  readonly jwksUri?: string | undefined;
  readonly onFailure: (error: unknown) => void;
  readonly now?: () => number;
  readonly timeout?: number;
  readonly refreshEvery?: number;
  /** How many unknown kids a minute may cause a fetch, so that nobody makes us hammer the authorization server. */
  readonly unknownKidsPerMinute?: number;
}

const answerLimit = 1_000_000;

export function createJwksCache(options: JwksCacheOptions): JwksCache {
  const {
    issuer,
    onFailure,
    now = Date.now,
    timeout = 4_000,
    refreshEvery = 300_000,
    unknownKidsPerMinute = 12,
  } = options;
  let keys = new Map<string | undefined, VerificationKey>();
  let fetchedAt: number | undefined;
  let failures = 0;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let unknownAsked: number[] = [];

  const fetchKeys = async (): Promise<void> => {
    const jwksUri = options.jwksUri ?? (await discoverJwksUri(issuer, timeout));
    const client = new JwksClient({
      jwksUri,
      cache: false,
      fetcher: (uri) => fetchJson(uri, timeout) as Promise<{ keys: unknown }>,
    });
    const found = (await client.getSigningKeys()) as (SigningKey & { alg?: string })[];
    keys = new Map(
      found.map((found) => [found.kid, { key: createPublicKey(found.getPublicKey()), alg: found.alg }] as const),
    );
    fetchedAt = now();
  };

  const refresh = (): Promise<void> => {
    running ??= fetchKeys()
      .then(() => {
        failures = 0;
      })
      .catch((error: unknown) => {
        failures += 1;
        onFailure(error);
      })
      .finally(() => {
        running = undefined;
        schedule();
      });
    return running;
  };

  const schedule = (): void => {
    clearTimeout(timer);
    if (closed) return;
    // Who has no key yet serves nobody, and every request that comes has its own try, which would soon make the pause a long one.
    const longest = fetchedAt === undefined ? 2_000 : 30_000;
    const pause = failures === 0 ? refreshEvery : Math.min(longest, 250 * 2 ** Math.min(failures, 10));
    timer = setTimeout(() => void refresh(), pause * (0.8 + 0.4 * Math.random()));
    timer.unref();
  };

  const mayAskForUnknown = (): boolean => {
    const minuteAgo = now() - 60_000;
    unknownAsked = unknownAsked.filter((at) => at > minuteAgo);
    if (unknownAsked.length >= unknownKidsPerMinute) return false;
    unknownAsked.push(now());
    return true;
  };

  // RFC 7515 leaves kid out where the issuer has but one key.
  const lookUp = (kid: string | undefined): VerificationKey | undefined =>
    kid === undefined && keys.size === 1 ? keys.values().next().value : keys.get(kid);

  return {
    find: async (kid) => {
      const known = lookUp(kid);
      if (known) return known;
      if (fetchedAt === undefined) {
        if (running || mayAskForUnknown()) await refresh();
        if (fetchedAt === undefined)
          throw new NoSigningKeysError('no signing key of the authorization server has been seen yet');
      } else if (running || mayAskForUnknown()) await refresh();
      return lookUp(kid);
    },
    holds: (kid) => lookUp(kid) !== undefined,
    age: () => (fetchedAt === undefined ? undefined : now() - fetchedAt),
    start: () => void refresh(),
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

async function discoverJwksUri(issuer: string, timeout: number): Promise<string> {
  const metadata = (await fetchJson(`${issuer}/.well-known/openid-configuration`, timeout)) as Record<string, unknown>;
  const named = typeof metadata.issuer === 'string' ? metadata.issuer.replace(/\/+$/, '') : undefined;
  if (named !== issuer) throw new Error(`discovery at ${issuer} names another issuer`);
  if (typeof metadata.jwks_uri !== 'string' || !/^https?:$/.test(URL.parse(metadata.jwks_uri)?.protocol ?? '')) {
    throw new Error(`discovery at ${issuer} names no jwks_uri`);
  }
  return metadata.jwks_uri;
}

async function fetchJson(uri: string, timeout: number): Promise<unknown> {
  const signal = AbortSignal.timeout(timeout);
  const ask = () => fetch(uri, { signal, redirect: 'error', headers: { Accept: 'application/json' } });
  // A connection that breaks, since the instance behind it ended, says nothing of the others: a good token would be refused.
  const response = await ask().catch((error: unknown) => (signal.aborted ? Promise.reject(error) : ask()));
  if (!response.ok) throw new Error(`${uri} answered ${response.status}`);
  let size = 0;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > answerLimit) throw new Error(`${uri} answered more than ${answerLimit} bytes`);
    chunks.push(chunk);
  }
  const parsed: unknown = JSON.parse(Buffer.concat(chunks).toString());
  if (typeof parsed !== 'object' || parsed === null) throw new Error(`${uri} answered no JSON object`);
  return parsed;
}
