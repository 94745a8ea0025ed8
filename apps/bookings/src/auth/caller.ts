// Who is asking? What the access token says that the API acts upon (contract section 6).

export interface Caller {
  /** The OAuth client; limits and idempotency keys count per client. */
  readonly clientId: string;
  /** All that the client sees and touches. */
  readonly facilities: readonly string[];
}
