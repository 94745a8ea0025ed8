// Runs an authorization server for tests. It serves discovery, a JWKS and the list of revocations, and signs access
// tokens (RFC 9068) with the claims that a test chooses. It can rotate its keys. It can also simulate failures: refused
// connections, slow responses, errors and invalid JSON.
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { serveHttp } from './http-server.ts';

/**
 * `down` and `down once`: the server closes the connections of all requests or of one request. `slow`: it never
 * responds. `500`: it responds with this status. `garbage`: it responds with invalid JSON.
 */
export type IssuerFailure = 'down' | 'down once' | 'slow' | '500' | 'garbage';

/**
 * The header parameters `typ`, `kid`, `alg` and `crit` of a token, and its claims. An undefined claim is left out. By
 * default, the token expires in one hour.
 */
export interface TokenOptions {
  typ?: string | undefined;
  kid?: string | undefined;
  /** Default: ES256, with the current key. Any other algorithm uses another key, except `none`, which does not sign. */
  alg?: string;
  /** The name of an extension. */
  crit?: string;
  [claim: string]: unknown;
}

export interface Revocations {
  entries: { id: string; before: number; disabled?: boolean }[];
  claims: Record<string, unknown>;
  header: Record<string, unknown>;
  status: number;
}

interface SigningKey {
  kid: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

/** The maximum number of entries of one response. */
const maxEntries = 5_000;

export type TestIssuer = Awaited<ReturnType<typeof createTestIssuer>>;

/** `audience` is the default `aud` of the tokens. */
export async function createTestIssuer({ audience = 'http://localhost:4001' } = {}) {
  let keyCount = 0;
  const createKey = async (): Promise<SigningKey> => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const kid = `key-${++keyCount}`;
    return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'ES256' } };
  };
  let current = await createKey();
  let published = [current];
  let failure: IssuerFailure | undefined;
  const requests = { jwks: 0 };
  const revocations: Revocations = { entries: [], claims: {}, header: {}, status: 200 };

  const { url, close } = await serveHttp((request, response) => {
    const respond = () => {
      if (request.url === '/.well-known/openid-configuration') send(response, discovery());
      else if (request.url === '/connect/jwks') send(response, { keys: published.map(({ jwk }) => jwk) });
      else if (request.url?.startsWith('/.well-known/revocations')) void sendRevocations(request.url, response);
      else response.writeHead(404).end();
    };
    if (request.url === '/connect/jwks') requests.jwks++;
    if (failure === 'down' || failure === 'down once') request.socket.destroy();
    else if (failure === '500') response.writeHead(500).end('{"error":"server_error"}');
    else if (failure === 'garbage') response.writeHead(200, { 'Content-Type': 'application/json' }).end('<html>{');
    else if (failure !== 'slow') respond();
    if (failure === 'down once') failure = undefined;
  });
  const jwksUri = `${url}/connect/jwks`;
  const discovery = () => ({
    issuer: url,
    jwks_uri: jwksUri,
    token_endpoint: `${url}/connect/token`,
    authorization_endpoint: `${url}/connect/authorize`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  });

  const sendRevocations = async (path: string, response: ServerResponse): Promise<void> => {
    const after = Number(new URL(path, url).searchParams.get('after') ?? 0);
    const revoked = revocations.entries.slice(after, after + maxEntries);
    const more = after + revoked.length < revocations.entries.length;
    const iat = Math.floor(Date.now() / 1000);
    const last = Math.min(after + maxEntries, revocations.entries.length);
    const claims = { iss: url, iat, exp: iat + 60, revoked, last, ...(more && { more }), ...revocations.claims };
    const header = { alg: 'ES256', typ: 'revocations+jwt', kid: current.kid, ...revocations.header };
    const jwt = await new SignJWT(claims).setProtectedHeader(header).sign(await signingKey(header.alg, current));
    response.writeHead(revocations.status).end(revocations.status === 200 ? jwt : '');
  };

  return {
    url,
    jwksUri,
    /** The number of requests for the JWKS so far. */
    requests,
    /**
     * The list of revocations, which tests may change. `claims` and `header` replace parts of the signed responses.
     * With `status`, the responses have this status and no body.
     */
    revocations,
    /**
     * Adds an entry for a right, such as `client demo-web`, to the list of revocations. By default, it concerns all
     * tokens that were issued before now, and in the current second.
     */
    revoke: (right: string, before = Math.floor(Date.now() / 1000) + 1) => {
      revocations.entries.push({ id: createHash('sha256').update(right).digest('base64url'), before });
    },
    token: async ({ typ = 'at+jwt', kid = current.kid, alg = 'ES256', crit, ...claims }: TokenOptions = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const payload = {
        iss: url,
        aud: audience,
        sub: 'acc-test',
        client_id: 'client-test',
        scope: 'https://bay-booking.example/golf/bookings',
        facilities: [],
        iat: now,
        exp: now + 3600,
        jti: crypto.randomUUID(),
        ...claims,
      } as JWTPayload;
      if (alg === 'none') return new UnsecuredJWT(payload).encode();
      const header: JWTHeaderParameters = { alg, typ, kid, ...(crit && { crit: [crit], [crit]: true }) };
      const options = crit ? { crit: { [crit]: true } } : {};
      return new SignJWT(payload).setProtectedHeader(header).sign(await signingKey(alg, current), options);
    },
    /** Creates a new key that signs all further tokens, and returns its kid. `retire` removes the old keys. */
    rotate: async ({ retire = false } = {}) => {
      current = await createKey();
      published = retire ? [current] : [...published, current];
      return current.kid;
    },
    /** Simulates a failure of all further requests. With undefined, the server works again. */
    fail: (newFailure: IssuerFailure | undefined) => {
      failure = newFailure;
    },
    close,
  };
}

/**
 * Returns the key that signs a token:
 * - For ES256, the private key of the issuer.
 * - For an HMAC algorithm, the JSON of the public key, which everybody can read. A service that accepts such a token is
 *   open to the attack "algorithm confusion".
 * - For any other algorithm, a new key that is not in the JWKS.
 */
async function signingKey(alg: string, { privateKey, jwk }: SigningKey): Promise<CryptoKey | Uint8Array> {
  if (alg === 'ES256') return privateKey;
  if (alg.startsWith('HS')) return new TextEncoder().encode(JSON.stringify(jwk));
  return (await generateKeyPair(alg)).privateKey;
}

function send(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
