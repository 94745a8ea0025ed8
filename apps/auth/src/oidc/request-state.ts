// Defines the data that our code stores during a request to oidc-provider and uses in a later step of this request. The
// data is stored in the library's request context, so it is discarded when the request ends.
import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ProviderAccount } from './tokens/claims.ts';

/** A session as the database contained it at the beginning of the request. */
export interface FoundSession {
  readonly id: string;
  readonly payload: AdapterPayload;
}

export interface RequestState {
  /** Whether the rules for the client of this request have been applied (clients/policy.ts). */
  isClientChecked?: boolean;
  /** The account that an earlier step has read from the database. */
  account?: ProviderAccount;
  /** The facilities that the issued access token will list. */
  facilities?: readonly string[];
  /** The session as it was stored before the request. storage/sessions.ts writes only the fields that have changed. */
  session?: FoundSession;
  /** The hash of the refresh token that this request uses (storage/refresh-tokens.ts). */
  usedRefreshToken?: string;
}

export const requestState = (ctx: Pick<KoaContextWithOIDC, 'state'>): RequestState => ctx.state;

/** Returns undefined if the calling code does not run for a request that oidc-provider handles. */
export const currentRequestState = (): RequestState | undefined => Provider.ctx?.state;

/** Returns the code or token that a token request exchanges. Other grant types exchange none. */
export function grantSourceOf({ oidc }: Pick<KoaContextWithOIDC, 'oidc'>) {
  const { AuthorizationCode: code, DeviceCode: deviceCode, RefreshToken: refreshToken } = oidc.entities;
  return code ?? deviceCode ?? refreshToken;
}
