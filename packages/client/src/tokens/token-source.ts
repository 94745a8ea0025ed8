// Keeps an access token, and requests the next one before it expires or after the service refused it.
export interface AccessToken {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

/** Returns a token. `refused` is the token that the service did not accept; then a new one is requested. */
export type TokenSource = (refused?: string) => Promise<string>;

/** A token is renewed in its last minute. If its lifetime is short, it is renewed in the last tenth. */
const renewalMs = 60_000;
/** A request needs some time to arrive, so a token is not used in its last seconds. */
const arrivalMs = 3_000;

/** Requests at most one token at a time; all callers wait for it. A caller that is aborted does not end the request. */
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
    // Nobody waits for the new token while the old one works, also if the authorization server is unavailable. A
    // failed renewal is repeated with the next request.
    renewed.catch(() => {});
    return token.value;
  };
}
