// Keeps an access token, and requests the next one before it expires or after the service refused it.
import { BookingsTokenError } from '../errors.ts';

export interface AccessToken {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

/** Returns a token. `refused` is the token that the service did not accept; then a new one is requested. */
export type TokenSource = (refused?: string) => Promise<string>;

const maxRenewalMs = 60_000;

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
    // The last minute of the token, or the last tenth of a short-lived token.
    const renewAt = token.expiresAt - Math.min(maxRenewalMs, token.lifetimeMs / 10);
    if (Date.now() < renewAt) return token.value;
    try {
      return (await renew()).value;
    } catch (error) {
      // The authorization server may be unavailable for a moment. The old token still works until it expires.
      if (error instanceof BookingsTokenError && Date.now() < token.expiresAt) return token.value;
      throw error;
    }
  };
}
