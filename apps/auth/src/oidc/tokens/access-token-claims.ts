// Adds our own claims to access tokens. Together with the claims that oidc-provider sets, they follow RFC 9068.
import type { Configuration } from 'oidc-provider';
import { isOpenidFamily, type ScopeTable, splitScope } from '../authorization/scopes.ts';
import { ownMetadataOf } from '../clients/registered-client.ts';
import { grantSourceOf } from '../grants/grant-source.ts';
import type { FacilitiesClaim } from './facilities-claim.ts';

type CustomizeJwt = NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt'];

/**
 * Returns the setting `extraTokenClaims` of oidc-provider. It adds the claim `facilities` to tokens with the scope
 * for bookings.
 */
export const createExtraTokenClaims =
  (scopes: ScopeTable, facilitiesClaim: FacilitiesClaim): Configuration['extraTokenClaims'] =>
  async (ctx, token) => {
    // For client_credentials, grants/client-credentials.ts has already stored the claim in `token.extra`.
    if (token.kind === 'ClientCredentials') return token.extra;
    if (!splitScope(token.scope).includes(scopes.bookings)) return undefined;
    return { facilities: await facilitiesClaim(ctx, token.accountId) };
  };

/**
 * The setting `formats.customizers.jwt` of oidc-provider. Changes the payload of an access token before it is signed:
 * - The token of a service account gets the id of the account as `sub`.
 * - The token of a user gets the scopes of the openid family, and the claims `grant_id`, `auth_time` and `acr`.
 */
export const customizeJwt: CustomizeJwt = (ctx, token, jwt) => {
  const payload = jwt.payload as Record<string, unknown>;
  if (token.kind === 'ClientCredentials') {
    // A personal access token belongs to a service account. oidc-provider has set `sub` to the client id.
    payload.sub = (token.client && ownMetadataOf(token.client).account_id) ?? payload.sub;
    return;
  }
  const { Grant: grant, Session: session } = ctx.oidc.entities;
  // The code or refresh token that the client exchanges for this token. Undefined for tokens of other requests.
  const source = grantSourceOf(ctx);
  // oidc-provider leaves the scopes of OpenID Connect (scopes.ts, `openidFamily`) out of the token. Our userinfo
  // endpoint needs them in the token.
  const requested = splitScope((ctx.oidc.params?.scope as string | undefined) ?? source?.scope);
  const openidScopes = grant?.getOIDCScopeFiltered(requested.filter(isOpenidFamily));
  if (openidScopes) payload.scope = [openidScopes, payload.scope].filter(Boolean).join(' ');
  // JWTs are not stored. Userinfo, introspection and revocation therefore find the grant of a token by this claim.
  payload.grant_id = token.grantId;
  const authTime = source?.authTime ?? session?.authTime();
  if (authTime !== undefined) payload.auth_time = authTime;
  const acr = source?.acr ?? session?.acr;
  if (acr !== undefined) payload.acr = acr;
};
