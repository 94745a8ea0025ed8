// Stores an access token and requests a new one before the token expires or after the service has rejected it.
export interface AccessToken {
  readonly value: string;
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

export type TokenSource = (rejectedToken?: string) => Promise<string>;

/** A token is renewed in its last minute, or in the last tenth of its lifetime if that is shorter. */
const renewalMs = 60_000;
/** A token is not used in its last seconds: it could expire before the service checks it. */
const unusedMs = 3_000;

/** Simultaneous callers share one token request. */
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
    // The old token is still valid. If the renewal fails, the next request starts another renewal.
    renewed.catch(() => {});
    return token.value;
  };
}
