// Holds what our code must remember between the steps of one request to oidc-provider.
// The state is a property of the library's request context, so it is removed together with the request.
import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ProviderAccount } from './claims.ts';

/** The session as it was before the request changed it. */
export interface FoundSession {
  readonly id: string;
  readonly payload: AdapterPayload;
}

export interface RequestState {
  /** When the request arrived, by `performance.now()`. */
  arrivedAt?: number;
  /** Is called when the response is complete and about to be written. */
  afterResponse?: () => void;
  /** Whether the rate limit has counted this token request. */
  rateLimitCounted?: boolean;
  /** The account that the library has found. */
  account?: ProviderAccount;
  /** The facilities that the issued access token will list. */
  facilitiesClaim?: Promise<readonly string[]>;
  session?: FoundSession;
  /** The hash of the refresh token that this request uses. The statement that stores its successor consumes it. */
  usedRefreshToken?: string;
}

export const requestState = (ctx: Pick<KoaContextWithOIDC, 'state'>): RequestState => ctx.state;

/** Returns undefined outside of a request to the library. */
export const currentRequestState = (): RequestState | undefined => Provider.ctx?.state;
