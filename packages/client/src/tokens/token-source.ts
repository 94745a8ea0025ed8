// Stores an access token. Requests a new token before the stored one expires, or when the service has refused it.
export interface AccessToken {
  readonly value: string;
  /** The time at which the token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

/** Returns an access token. `refused` is the token that the service has refused, so that a new one is requested. */
export type TokenSource = (refused?: string) => Promise<string>;

/** A token is renewed in its last minute. A short-lived token is renewed in the last tenth of its lifetime. */
const renewalMs = 60_000;
/** A token could expire while a request is on its way. A token is therefore not used in its last seconds. */
const arrivalMs = 3_000;

/** At most one token request runs at a time, and all callers share its result. An aborted caller does not cancel it. */
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

  return async (refused) => {
    if (current && current.value === refused) current = undefined;
    const token = current;
    if (!token) return (await renew()).value;
    const left = token.expiresAt - Date.now();
    if (left > Math.min(renewalMs, token.lifetimeMs / 10)) return token.value;
    const renewed = renew();
    if (left < arrivalMs) return (await renewed).value;
    // The old token is still valid, so this request does not wait for the new token. If the renewal fails, the next
    // request starts it again.
    renewed.catch(() => {});
    return token.value;
  };
}
