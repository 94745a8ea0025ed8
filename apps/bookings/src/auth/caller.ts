// Describes the client that sent a request, as its access token says.

export interface Caller {
  readonly clientId: string;
  /** The account that the client acts for. Accounts of several tenants may use the same public client. */
  readonly subject: string;
  readonly facilities: readonly string[];
  readonly scopes: readonly string[];
  /** The claim `grant_id`. */
  readonly grantId: string | undefined;
  /** The claim `iat`, in seconds since 1970. */
  readonly issuedAt: number | undefined;
}

/** Returns whom the things belong to that the caller creates. A client that acts for itself is its own subject. */
export const ownerOf = ({ subject }: Caller): string => subject;
