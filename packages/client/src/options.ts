// Defines the options of `createBookingsClient`.
import type { CryptoKey, CryptoKeyPair } from 'oauth4webapi';

export interface BookingsClientOptions {
  readonly baseUrl: string;
  readonly auth: ClientCredentials | GetAccessToken | BoundAccessTokens;
  readonly retry?: RetryOptions;
  /** The service rejects unknown fields and parameters (`Prefer: handling=strict`) instead of ignoring them. */
  readonly strict?: boolean;
  /** The maximum duration of one attempt. Default: 10 000. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof globalThis.fetch;
  /** Allows `http:` URLs on every host. On this machine they are always allowed. */
  readonly allowInsecureHttp?: boolean;
}

/** A registered client or a personal access token. */
export interface ClientCredentials {
  readonly clientId: string;
  /** Never use a secret in a browser or an app. */
  readonly clientSecret?: string;
  /** Signs client assertions in place of a secret (`private_key_jwt`, RFC 7523). */
  readonly privateKey?: CryptoKey | PrivateJwk;
  /** Needed only if `privateKey` is a CryptoKey. */
  readonly privateKeyId?: string;
  /** The key pair that tokens are bound to (DPoP, RFC 9449). `true` generates one. */
  readonly dpop?: CryptoKeyPair | boolean;
  /** The facilities that the token gives access to, at most 200. Default: all facilities of the account. */
  readonly facilities?: readonly string[];
  /** Default: the authorization server that the API names in its metadata (RFC 9728). */
  readonly issuer?: string;
  /**
   * One scope, or several separated by spaces. Each is complete, or lacks the base that the API names in its metadata:
   * `golf/schedule`. Default: `golf/bookings`.
   */
  readonly scope?: string;
}

/** Called before each attempt, and after a 401 with `renew: true`. It must then return a new token. */
export type GetAccessToken = (options: { readonly renew: boolean }) => string | Promise<string>;

/** Access tokens that another library has bound to a key (DPoP, RFC 9449), for example those of a user. */
export interface BoundAccessTokens {
  readonly getAccessToken: GetAccessToken;
  readonly dpop: CryptoKeyPair;
}

export interface PrivateJwk {
  readonly kty: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly [member: string]: unknown;
}

export interface RetryOptions {
  /** Default: 4, including the first attempt. The value 1 switches retries off. */
  readonly maxAttempts?: number;
  /** No further attempt begins after this time. Default: 60 000. */
  readonly maxTotalMs?: number;
}
