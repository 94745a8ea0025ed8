// Defines the lifetimes of tokens and codes, and of the grants and interactions to which they belong. All values are in
// seconds.
import { ownMetadataOf, type RegisteredClient } from '../clients/registered-client.ts';

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
    /** The `access_token_ttl` of the client, or else ACCESS_TOKEN_TTL. It applies to every grant type. */
    accessToken: (client: RegisteredClient): number => ownMetadataOf(client).access_token_ttl ?? accessTokenTtl,
    /** The lifetime of an authorization code. */
    code: 60,
    /** The time in which a user must enter the code that a device shows (RFC 8628). */
    deviceCode: 600,
    idToken,
    /** The lifetime of a refresh token. Each refresh issues a new token with the full lifetime. */
    refreshToken: refreshTokenTtl,
    /** The time in which a user must finish sign-in and consent. */
    interaction: 3600,
    /**
     * The lifetime of a grant: at least that of a refresh token. Refreshing a token does not extend the grant. When the
     * grant ends, its refresh tokens end too, and the user must sign in again.
     */
    grant: Math.max(year, refreshTokenTtl),
    /**
     * The longest lifetime of the tokens that the server signs for clients without `access_token_ttl`. A public key
     * must stay published until all tokens that were signed with it have expired. signing-keys/store.ts also takes the
     * `access_token_ttl` of the other clients into account.
     */
    longestSigned: Math.max(accessTokenTtl, idToken),
  };
}
