// Defines the data that our code stores during one request to oidc-provider, to use it in a later step of the request.
// The data is a property of the library's request context, so it is discarded together with the request.
import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ProviderAccount } from './claims.ts';

/** The session as it was before the request changed it. */
export interface FoundSession {
  readonly id: string;
  readonly payload: AdapterPayload;
}

export interface RequestState {
  /** The time at which the request arrived, as a value of `performance.now()`. */
  arrivedAt?: number;
  /** This function is called when the response is complete, just before it is written. */
  afterResponse?: () => void;
  /** Whether the rate limit has counted this token request. */
  rateLimitCounted?: boolean;
  /** The account that the library has found. */
  account?: ProviderAccount;
  /** The facilities that the issued access token will list. */
  facilitiesClaim?: Promise<readonly string[]>;
  session?: FoundSession;
  /**
   * The hash of the refresh token that this request uses. One statement stores the next refresh token and consumes this
   * one (storage/refresh-tokens.ts).
   */
  usedRefreshToken?: string;
}

export const requestState = (ctx: Pick<KoaContextWithOIDC, 'state'>): RequestState => ctx.state;

/** Returns undefined outside of a request to the library. */
export const currentRequestState = (): RequestState | undefined => Provider.ctx?.state;
