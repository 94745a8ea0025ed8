// Describes the client that sent a request, from its access token.
import type { EndpointRequest } from '@bay-booking/common/endpoint';

export type Scheme = 'Bearer' | 'DPoP';

export interface Caller {
  readonly clientId: string;
  /** The account that the client acts for. Accounts of several tenants may use the same public client. */
  readonly subject: string;
  readonly facilities: readonly string[];
  readonly scopes: readonly string[];
  readonly scheme: Scheme;
  /** The methods (`amr`) and the time (`auth_time`) of the user's sign-in. Undefined for a program. */
  readonly signIn: { readonly methods: readonly string[]; readonly time: number } | undefined;
  readonly tokenId: string | undefined;
  readonly grantId: string | undefined;
  /** The token's `iat` and `exp`. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export type CallerRequest<Query = unknown, Body = unknown> = EndpointRequest<Query, Body, Caller>;

/**
 * Returns the owner of resources that the caller creates: an account, or a client that acts for itself. Tokens of such
 * a client have its id as `sub`.
 */
export const ownerOf = ({ subject }: Pick<Caller, 'subject'>): string => subject;

/** A personal access token acts for an account, without a sign-in of it. */
export const isPersonalAccessToken = ({ clientId, subject, signIn }: Caller): boolean =>
  signIn === undefined && subject !== clientId;
