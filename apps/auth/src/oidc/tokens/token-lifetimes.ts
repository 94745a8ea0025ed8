// Defines the lifetimes of tokens, codes, grants and interactions, in seconds.
import type { AuthConfig } from '../../config.ts';
import { ownMetadataOf, type RegisteredClient } from '../clients/registered-client.ts';

const year = 365 * 24 * 3600;
const idToken = 3600;

export type TokenLifetimes = ReturnType<typeof createTokenLifetimes>;

export function createTokenLifetimes({
  accessTokenTtl,
  refreshTokenTtl,
}: Pick<AuthConfig, 'accessTokenTtl' | 'refreshTokenTtl'>) {
  return {
    accessToken: (client: RegisteredClient): number => ownMetadataOf(client).access_token_ttl ?? accessTokenTtl,
    code: 60,
    deviceCode: 600,
    idToken,
    /** Each refresh issues a token with the full lifetime. */
    refreshToken: refreshTokenTtl,
    interaction: 3600,
    /** Refreshing does not extend the grant. When it ends, the user must sign in again. */
    grant: Math.max(year, refreshTokenTtl),
    // A key stays published until these tokens have expired. signing-keys/store.ts adds the `access_token_ttl` of
    // clients.
    longestSigned: Math.max(accessTokenTtl, idToken),
  };
}
