// The client that sent a request, as its access token describes it.

export interface Caller {
  /** The OAuth client. Rate limits and idempotency keys are per client. */
  readonly clientId: string;
  /** The ids of the facilities that the client can see and change. */
  readonly facilities: readonly string[];
}
