// Requests access tokens with the client credentials grant (RFC 6749) and a secret or a signed assertion (RFC 7523).
import type { CryptoKey } from 'oauth4webapi';
import * as oauth from 'oauth4webapi';

import { BookingsConnectionError, BookingsTokenError } from '../errors.ts';
import type { ClientCredentials, PrivateJwk } from '../options.ts';
import { withTimeout } from '../timeout.ts';
import type { AccessToken } from './token-source.ts';

export interface TokenRequestOptions {
  readonly baseUrl: URL;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
  readonly dpop: oauth.DPoPHandle | undefined;
  readonly allowInsecureHttp: boolean;
}

/** The service's scope base is added later. */
const defaultScope = 'golf/bookings';

/** A token response may leave out `expires_in` (RFC 6749 section 5.1). */
const defaultLifetimeSeconds = 300;

interface AuthorizationServer {
  readonly metadata: oauth.AuthorizationServer;
  readonly scope: string;
}

/** @throws {BookingsTokenError} if the authorization server issues no token */
export function createTokenRequest(
  credentials: ClientCredentials,
  { baseUrl, fetch, timeoutMs, dpop, allowInsecureHttp }: TokenRequestOptions,
): () => Promise<AccessToken> {
  const client: oauth.Client = { client_id: credentials.clientId };
  const connect = async (url: string, init: object) => {
    expectSecure(new URL(url), allowInsecureHttp);
    return fetch(url, init).catch((cause) => {
      throw new BookingsConnectionError('The authorization server could not be reached', { cause });
    });
  };
  let authorizationServer: AuthorizationServer | undefined;
  let clientAuthentication: oauth.ClientAuth | undefined;

  async function discover(options: oauth.HttpRequestOptions<'GET'>): Promise<AuthorizationServer> {
    let { issuer, scope } = credentials;
    const names = (scope ?? defaultScope).split(' ');
    if (!issuer || !names.every((name) => name.includes(':'))) {
      const response = await oauth.resourceDiscoveryRequest(baseUrl, options);
      const api = await oauth.processResourceDiscoveryResponse(baseUrl, response);
      issuer ??= api.authorization_servers?.[0];
      const complete = (name: string) => api.scopes_supported?.find((supported) => supported.endsWith(`/${name}`));
      scope = names.map((name) => complete(name) ?? (scope && name)).join(' ');
    }
    if (!issuer || !scope) throw new Error(`${baseUrl} names no issuer or no scope: set auth.issuer and auth.scope`);
    const url = new URL(issuer);
    const response = await oauth.discoveryRequest(url, { ...options, algorithm: 'oauth2' });
    return { metadata: await oauth.processDiscoveryResponse(url, response), scope };
  }

  async function request(signal: AbortSignal): Promise<AccessToken> {
    // oauth4webapi allows http for all hosts or for none. `connect` rejects hosts that must use https.
    const options = { [oauth.customFetch]: connect, [oauth.allowInsecureRequests]: true, signal };
    authorizationServer ??= await discover(options);
    clientAuthentication ??= await createClientAuthentication(credentials);
    const { metadata, scope } = authorizationServer;
    const facilities = (credentials.facilities ?? []).map((id): [string, string] => ['facility', id]);
    const parameters: [string, string][] = [['scope', scope], ...facilities];
    const authentication = clientAuthentication;
    const requestOnce = async () => {
      const requestOptions = { ...options, ...(dpop && { DPoP: dpop }) };
      const response = await oauth.clientCredentialsGrantRequest(
        metadata,
        client,
        authentication,
        parameters,
        requestOptions,
      );
      return oauth.processClientCredentialsResponse(metadata, client, response);
    };
    const token = await requestOnce().catch((error) => {
      // oauth4webapi has stored the nonce of the rejected request's response.
      if (oauth.isDPoPNonceError(error)) return requestOnce();
      throw error;
    });
    const lifetimeMs = (token.expires_in ?? defaultLifetimeSeconds) * 1_000;
    return { value: token.access_token, lifetimeMs, expiresAt: Date.now() + lifetimeMs };
  }

  // Several API requests can wait for the same token request. An abort of one API request must not abort it.
  return () => withTimeout(timeoutMs, undefined, request).catch((error) => Promise.reject(tokenError(error)));
}

async function createClientAuthentication(credentials: ClientCredentials): Promise<oauth.ClientAuth> {
  const { clientSecret, privateKey, privateKeyId } = credentials;
  if (privateKey) return oauth.PrivateKeyJwt(await importPrivateKey(privateKey, privateKeyId));
  if (clientSecret) return oauth.ClientSecretBasic(clientSecret);
  throw new TypeError('auth needs clientSecret or privateKey');
}

function tokenError(cause: unknown): BookingsTokenError {
  if (cause instanceof oauth.ResponseBodyError) {
    const { error, error_description: description, response } = cause;
    return new BookingsTokenError(`${error}: ${description ?? 'no description'}`, { cause, error, response });
  }
  if (cause instanceof oauth.WWWAuthenticateChallengeError) {
    const error = cause.cause[0]?.parameters.error;
    return new BookingsTokenError(`The client credentials were refused: ${error}`, {
      cause,
      error,
      response: cause.response,
    });
  }
  const response = cause instanceof Error && cause.cause instanceof Response ? cause.cause : undefined;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new BookingsTokenError(`No access token: ${message}`, { cause, response });
}

const parametersOf: Readonly<Record<string, { name: string; namedCurve?: string; hash?: string }>> = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
  Ed25519: { name: 'Ed25519' },
};

const defaultAlgorithms: Readonly<Record<string, string>> = { EC: 'ES256', RSA: 'PS256', OKP: 'Ed25519' };

/** @throws {TypeError} if the authorization server does not accept the algorithm of the key */
export async function importPrivateKey(
  key: CryptoKey | PrivateJwk,
  keyId: string | undefined,
): Promise<{ key: CryptoKey; kid?: string }> {
  if (!('kty' in key)) return { key, ...(keyId && { kid: keyId }) };
  const parameters = parametersOf[key.alg ?? defaultAlgorithms[key.kty] ?? ''];
  if (!parameters) throw new TypeError(`A key of type ${key.kty} with alg ${key.alg} cannot sign client assertions`);
  // `importKey` rejects a key whose `alg`, `use` or `key_ops` contradicts `parameters`.
  const { kid = keyId, alg: _alg, use: _use, key_ops: _operations, ...jwk } = key;
  return { key: await crypto.subtle.importKey('jwk', jwk, parameters, false, ['sign']), ...(kid && { kid }) };
}

/** Rejects URLs that would receive a secret or token unencrypted. */
export function expectSecure(address: URL, allowInsecureHttp: boolean): void {
  const isThisMachine = ['localhost', '127.0.0.1', '[::1]'].includes(address.hostname);
  if (address.protocol === 'https:' || (address.protocol === 'http:' && (allowInsecureHttp || isThisMachine))) return;
  throw new TypeError(`${address.origin} is not https. With allowInsecureHttp, tokens are sent without encryption`);
}
