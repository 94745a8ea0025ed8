// The client that sent a request, as its access token describes it.

export interface Caller {
  /** The OAuth client. */
  readonly clientId: string;
  /**
   * The `sub` of the token: the account that the client acts for. Several tenants may share one public client, so rate
   * limits and idempotency keys belong to a client and its subject.
   */
  readonly subject: string;
  /** The ids of the facilities that the client can see and change. */
  readonly facilities: readonly string[];
}
