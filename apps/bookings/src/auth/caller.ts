// Describes the client that sent a request, as its access token says.

export type Scheme = 'Bearer' | 'DPoP';

export interface Caller {
  readonly clientId: string;
  /** The account that the client acts for. Accounts of several tenants may use the same public client. */
  readonly subject: string;
  readonly facilities: readonly string[];
  readonly scopes: readonly string[];
  /** The scheme with which the token was sent. */
  readonly scheme: Scheme;
  readonly tokenId: string | undefined;
  readonly grantId: string | undefined;
  /** `iat` and `exp` of the token, in seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/**
 * The owner of what the caller creates, so that it does not depend on the client: an account, or a client that acts for
 * itself, whose tokens have its id as `sub`.
 */
export const ownerOf = ({ subject }: Pick<Caller, 'subject'>): string => subject;
