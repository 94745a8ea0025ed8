// Stores an access token. Requests a new token before the stored token expires, or when the service has rejected it.
export interface AccessToken {
  readonly value: string;
  /** The time at which the token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

/** Returns an access token. If the service has rejected the stored token, the caller passes it as `rejectedToken`. */
export type TokenSource = (rejectedToken?: string) => Promise<string>;

/** A token is renewed in the last minute of its lifetime, or in the last tenth of its lifetime if this is shorter. */
const renewalMs = 60_000;
/** A token is not used in its last seconds, because it could expire before the request arrives at the service. */
const unusedMs = 3_000;

/**
 * Returns a source that runs at most one token request at a time. All callers share the result of this request, and an
 * aborted caller does not cancel the request.
 */
export function createTokenSource(requestToken: () => Promise<AccessToken>): TokenSource {
  let current: AccessToken | undefined;
  let pending: Promise<AccessToken> | undefined;

  const renew = (): Promise<AccessToken> => {
    pending ??= requestToken()
      .then((token) => {
        current = token;
        return token;
      })
      .finally(() => {
        pending = undefined;
      });
    return pending;
  };

  return async (rejectedToken) => {
    if (current && current.value === rejectedToken) current = undefined;
    const token = current;
    if (!token) return (await renew()).value;
    const remainingMs = token.expiresAt - Date.now();
    if (remainingMs > Math.min(renewalMs, token.lifetimeMs / 10)) return token.value;
    const renewed = renew();
    if (remainingMs < unusedMs) return (await renewed).value;
    // The old token is still valid, so this request does not wait for the new token. If the renewal fails, the next
    // request starts another renewal.
    renewed.catch(() => {});
    return token.value;
  };
}
