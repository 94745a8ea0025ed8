// Fetches the public signing keys of the authorization server. Their address is configured, or discovery returns it.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { JwksClient } from 'jwks-rsa';

export interface VerificationKey {
  readonly key: KeyObject;
  /** The only algorithm that the key may be used with, if the JWKS names one. */
  readonly alg: string | undefined;
}

/** The signing keys by their `kid`. A signing key without a `kid` is in the map under `undefined`. */
export type VerificationKeys = ReadonlyMap<string | undefined, VerificationKey>;

export interface JwksFetcherOptions {
  /** Without a slash at the end. */
  readonly issuer: string;
  /** If undefined, the address is found by discovery. */
  readonly jwksUri: string | undefined;
  /** The timeout of each fetch, including its repetition. */
  readonly timeoutMs: number;
}

const maxResponseBytes = 1_000_000;

/** @throws {Error} if the authorization server does not respond, or does not return at least one key */
export async function fetchVerificationKeys(options: JwksFetcherOptions): Promise<VerificationKeys> {
  const { issuer, timeoutMs, jwksUri = await discoverJwksUri(issuer, timeoutMs) } = options;
  const client = new JwksClient({
    jwksUri,
    cache: false, // The caller caches the keys.
    fetcher: (uri) => fetchJson(uri, timeoutMs) as Promise<{ keys: unknown }>,
  });
  // `getSigningKeys` throws if there is no signing key. The types of jwks-rsa say that `kid` and `alg` are always set,
  // but a JWKS may leave both out.
  const signingKeys = await client.getSigningKeys();
  return new Map(
    signingKeys.map((signingKey) => {
      const key = createPublicKey(signingKey.getPublicKey());
      return [signingKey.kid, { key, alg: signingKey.alg }] as const;
    }),
  );
}

async function discoverJwksUri(issuer: string, timeoutMs: number): Promise<string> {
  const metadata = (await fetchJson(`${issuer}/.well-known/openid-configuration`, timeoutMs)) as Record<
    string,
    unknown
  >;
  const metadataIssuer = typeof metadata.issuer === 'string' ? metadata.issuer.replace(/\/+$/, '') : undefined;
  if (metadataIssuer !== issuer) throw new Error(`discovery at ${issuer} returned another issuer`);
  const { jwks_uri: jwksUri } = metadata;
  if (typeof jwksUri !== 'string' || !/^https?:$/.test(URL.parse(jwksUri)?.protocol ?? '')) {
    throw new Error(`discovery at ${issuer} returned no jwks_uri`);
  }
  return jwksUri;
}

async function fetchJson(uri: string, timeoutMs: number): Promise<object> {
  const signal = AbortSignal.timeout(timeoutMs);
  const request = () => fetch(uri, { signal, redirect: 'error', headers: { Accept: 'application/json' } });
  // When an instance of auth stops, connections to this instance break. Another instance may respond, so the request is
  // repeated once. Without the repetition, a valid token could get a 401 because its key was not fetched.
  const response = await request().catch((error: unknown) => (signal.aborted ? Promise.reject(error) : request()));
  if (!response.ok) throw new Error(`${uri} returned status ${response.status}`);
  let size = 0;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxResponseBytes) throw new Error(`${uri} returned more than ${maxResponseBytes} bytes`);
    chunks.push(chunk);
  }
  const json: unknown = JSON.parse(Buffer.concat(chunks).toString());
  if (typeof json !== 'object' || json === null) throw new Error(`${uri} did not return a JSON object`);
  return json;
}
