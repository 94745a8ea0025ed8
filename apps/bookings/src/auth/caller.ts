// Describes the client that sent a request, as its access token says.

export interface Caller {
  readonly clientId: string;
  /** The account that the client acts for. Accounts of several tenants may use the same public client. */
  readonly subject: string;
  readonly facilities: readonly string[];
}
