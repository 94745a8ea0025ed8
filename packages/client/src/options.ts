// Defines the options of `createBookingsClient`.
import type { CryptoKey, CryptoKeyPair } from 'oauth4webapi';

export interface BookingsClientOptions {
  /** The address of the Bookings API, for example `https://bookings.example`. */
  readonly baseUrl: string;
  /**
   * How the client gets access tokens: with credentials, or from a function. If the tokens of the function are bound to
   * a key (`BoundAccessTokens`), the client also needs the key pair.
   */
  readonly auth: ClientCredentials | GetAccessToken | BoundAccessTokens;
  readonly retry?: RetryOptions;
  /** The maximum duration of one attempt in milliseconds. Default: 10 000. */
  readonly timeoutMs?: number;
  /** Replaces the global `fetch`, for example to log requests or to use a proxy. */
  readonly fetch?: typeof globalThis.fetch;
  /** Allows `http:` addresses of other machines. `http:` addresses of this machine are always allowed. */
  readonly allowInsecureHttp?: boolean;
}

/** The id of a registered client or of a personal access token, and its secret or private key. */
export interface ClientCredentials {
  readonly clientId: string;
  /** The secret of the client. Needed unless `privateKey` is given. Never use a secret in a browser or an app. */
  readonly clientSecret?: string;
  /** The key that signs client assertions in place of a secret (`private_key_jwt`, RFC 7523). */
  readonly privateKey?: CryptoKey | PrivateJwk;
  /** The `kid` of `privateKey`. Needed only if `privateKey` is a CryptoKey. */
  readonly privateKeyId?: string;
  /**
   * The key pair to which tokens are bound, so that a stolen token is useless (DPoP, RFC 9449). `true` generates a new
   * ES256 key pair for this client object.
   */
  readonly dpop?: CryptoKeyPair | boolean;
  /**
   * The ids of the facilities that the token gives access to. Default: all facilities of the account. A token can list
   * at most 200 facilities. If an account has more, `facilities` must select some of them.
   */
  readonly facilities?: readonly string[];
  /** The issuer of the tokens. Default: the authorization server that the API names in its metadata (RFC 9728). */
  readonly issuer?: string;
  /** The scope of the tokens. Default: the scope that the API names in its metadata. */
  readonly scope?: string;
}

/**
 * Returns an access token, for example of a user who signed in through openid-client. The client calls this function
 * before it sends a request, and before each retry. If the service rejects the token with a 401, the client calls the
 * function once more with `renew: true`. The function must then return a new token.
 */
export type GetAccessToken = (options: { readonly renew: boolean }) => string | Promise<string>;

/** Access tokens that another library has bound to a key (DPoP, RFC 9449), for example those of a user. */
export interface BoundAccessTokens {
  readonly getAccessToken: GetAccessToken;
  /** The key pair to which the tokens are bound. */
  readonly dpop: CryptoKeyPair;
}

/** A private key in JSON (RFC 7517): EC P-256, RSA or Ed25519. */
export interface PrivateJwk {
  readonly kty: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly [member: string]: unknown;
}

export interface RetryOptions {
  /** The maximum number of attempts, including the first. Default: 4. The value 1 switches retries off. */
  readonly maxAttempts?: number;
  /** The time in milliseconds after which no further attempt begins. Default: 60 000. */
  readonly maxTotalMs?: number;
}
