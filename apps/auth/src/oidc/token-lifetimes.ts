// Defines how long tokens are valid, and how long the records are kept that belong to them. All values are seconds.
import type { RegisteredClient } from './registered-client.ts';

const year = 365 * 24 * 3600;
const idToken = 3600;

export type TokenLifetimes = ReturnType<typeof createTokenLifetimes>;

export function createTokenLifetimes({
  accessTokenTtl,
  refreshTokenTtl,
}: {
  accessTokenTtl: number;
  refreshTokenTtl: number;
}) {
  return {
    /** The lifetime of an access token of this client. Every grant type uses this function. */
    accessToken: (_client: RegisteredClient): number => accessTokenTtl,
    /** The longest of these lifetimes, for pages that state how long access tokens remain valid. */
    longestAccessToken: accessTokenTtl,
    code: 60,
    idToken,
    /** The lifetime of a refresh token. Each refresh issues a new token with the full lifetime. */
    refreshToken: refreshTokenTtl,
    /** The time that a user has for sign-in and consent. */
    interaction: 3600,
    /** The lifetime of a grant. Refreshing does not extend it. */
    grant: Math.max(year, refreshTokenTtl),
    /** The longest lifetime of all signed tokens. Their signing key must stay published for as long. */
    longestSigned: Math.max(accessTokenTtl, idToken),
  };
}
