// What do we know of the request that the library serves now? Noted on its own context, so that it goes when the request goes.
import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider';

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
  grantTypeAsked?: boolean;
  /** The facilities that the issued access token will name. */
  chosenFacilities?: Promise<readonly string[]>;
  session?: FoundSession;
  /** The hash of the refresh token that this request uses. The statement that stores its successor consumes it. */
  usedRefreshToken?: string;
}

export const requestState = (ctx: Pick<KoaContextWithOIDC, 'state'>): RequestState => ctx.state;

/** Undefined outside of a request to the library. */
export const currentRequestState = (): RequestState | undefined => Provider.ctx?.state;
