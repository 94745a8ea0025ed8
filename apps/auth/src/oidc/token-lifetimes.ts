// Defines how long tokens are valid, and how long the records are kept that belong to them. All values are seconds.
import { ownMetadataOf, type RegisteredClient } from './registered-client.ts';

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
    /**
     * The lifetime of an access token of this client: its own `access_token_ttl`, or ACCESS_TOKEN_TTL. Every grant type
     * uses this function.
     */
    accessToken: (client: RegisteredClient): number => ownMetadataOf(client).access_token_ttl ?? accessTokenTtl,
    /** The lifetime of an access token of a client without a lifetime of its own. */
    defaultAccessToken: accessTokenTtl,
    code: 60,
    /** The time that a user has to enter the code of a device (RFC 8628). */
    deviceCode: 600,
    idToken,
    /** The lifetime of a refresh token. Each refresh issues a new token with the full lifetime. */
    refreshToken: refreshTokenTtl,
    /** The time that a user has for sign-in and consent. */
    interaction: 3600,
    /** The lifetime of a grant. Refreshing does not extend it. */
    grant: Math.max(year, refreshTokenTtl),
    /**
     * The longest lifetime of signed tokens, apart from clients with a longer lifetime of their own. Their signing key
     * must stay published for as long (signing-keys/store.ts).
     */
    longestSigned: Math.max(accessTokenTtl, idToken),
  };
}
