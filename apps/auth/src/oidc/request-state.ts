// Defines the data that our code keeps in the context of a request to oidc-provider, and types of its middleware.
import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AccountWithMemberships } from '../accounts/store.ts';

export interface FoundSession {
  readonly id: string;
  readonly payload: AdapterPayload;
}

/** When and how the user signed in. */
export interface AuthenticationContext {
  readonly authTime?: number | undefined;
  readonly acr?: string | undefined;
  readonly amr?: string[] | undefined;
}

export interface RequestState {
  /** In seconds since 1970. */
  startedAt?: number;
  /** The rules of clients/policy.ts apply once for each request. */
  isClientChecked?: boolean;
  /** Read with the code or refresh token. Null if it no longer exists. */
  account?: AccountWithMemberships | null;
  grant?: AdapterPayload | null;
  /** As it was stored before the request. */
  session?: FoundSession;
  /** The sign-in in the token request itself. */
  proven?: AuthenticationContext;
  /** A hash. */
  usedRefreshToken?: string;
}

export const requestState = (ctx: Pick<KoaContextWithOIDC, 'state'>): RequestState => ctx.state;

export const currentRequestState = (): RequestState | undefined => Provider.ctx?.state;

/** Undefined for grant types that exchange no code or token. */
export function grantSourceOf({ oidc }: Pick<KoaContextWithOIDC, 'oidc'>) {
  const { AuthorizationCode: code, DeviceCode: deviceCode, RefreshToken: refreshToken } = oidc.entities;
  return code ?? deviceCode ?? refreshToken;
}

/** How the user signed in: for the code or refresh token, in the token request, or for the session (implicit flow). */
export function signInOf(ctx: KoaContextWithOIDC): AuthenticationContext | undefined {
  const { oidc } = ctx;
  const { Session: session } = oidc.entities;
  return (
    grantSourceOf(ctx) ??
    requestState(ctx).proven ??
    (session && { authTime: session.authTime(), acr: oidc.acr, amr: oidc.amr })
  );
}

/** The types of middleware of oidc-provider, which uses Koa. */
export type Next = () => Promise<void>;

/** A parameter that was sent more than once is an array. */
export type AuthorizationQuery = Record<string, string | string[] | undefined>;
