// Describes the client that sent a request. The data is from its access token.

export interface Caller {
  readonly clientId: string;
  /**
   * The `sub` of the token: the account that the client acts for. Accounts of several tenants may use the same public
   * client, so rate limits and idempotency keys belong to a pair of client and subject.
   */
  readonly subject: string;
  /** The ids of the facilities that the client can see and change. */
  readonly facilities: readonly string[];
}
