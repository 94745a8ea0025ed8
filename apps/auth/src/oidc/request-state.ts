// What do we know of the request that the library serves now? Noted on its own context, so that it goes when the request goes.
import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ProviderAccount } from './claims.ts';

/** Read in one statement before the library asks for each by itself. */
export interface ReadAhead {
  /** By model and id; undefined where it is known that there is none. */
  readonly artifacts: Map<string, AdapterPayload | undefined>;
  readonly account: ProviderAccount | undefined;
}

/** The session as it was before the request changed it. */
export interface FoundSession {
  readonly id: string;
  readonly payload: AdapterPayload;
}

export interface RequestState {
  /** By the clock that tells what came first within this process. */
  arrived?: number;
  grantTypeAsked?: boolean;
  /** What an account may put into a token, where it was read along with something else. */
  facilities?: { readonly accountId: string; readonly ids: readonly string[] };
  /** What will be put into it. */
  chosenFacilities?: Promise<readonly string[]>;
  ahead?: ReadAhead;
  session?: FoundSession;
  /** The hash of the refresh token that is used up in the statement that stores its successor. */
  rotated?: string;
}

export const requestState = (ctx: Pick<KoaContextWithOIDC, 'state'>): RequestState => ctx.state;

/** Undefined outside of a request to the library. */
export const currentRequestState = (): RequestState | undefined => Provider.ctx?.state;
