// Adds our own claims to access tokens, which then follow RFC 9068, and defines the claims about a user.
import type { Configuration } from 'oidc-provider';
import type { AccountWithMemberships } from '../../accounts/store.ts';
import { type Membership, roleClaims } from '../../facilities/roles.ts';
import { ownMetadataOf } from '../clients/registered-client.ts';
import { grantSourceOf, requestState, signInOf } from '../request-state.ts';
import { isOpenidFamily, splitScope } from '../scopes.ts';
import type { FacilitiesClaim } from './facilities-claim.ts';

type CustomizeJwt = NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt'];

export const createExtraTokenClaims =
  (facilitiesClaim: FacilitiesClaim): Configuration['extraTokenClaims'] =>
  async (ctx, token) => {
    const { scope, accountId } = token as typeof token & { accountId?: string };
    const amr = accountId === undefined ? undefined : signInOf(ctx)?.amr;
    const facilities = await facilitiesClaim(ctx, { scope, accountId, amr });
    return { ...(facilities && { facilities }), ...(amr && { amr }) };
  };

export const customizeJwt: CustomizeJwt = (ctx, token, jwt) => {
  const payload = jwt.payload as Record<string, unknown> & { iat: number; exp: number };
  // If a right ends while the request runs, the list of revocations must apply to the token.
  const elapsed = payload.iat - (requestState(ctx).startedAt ?? payload.iat);
  payload.iat -= elapsed;
  payload.exp -= elapsed;
  if (token.kind === 'ClientCredentials') {
    // oidc-provider has set `sub` to the client id of the personal access token.
    payload.sub = (token.client && ownMetadataOf(token.client).account_id) ?? payload.sub;
    return;
  }
  const { Grant: grant } = ctx.oidc.entities;
  const source = grantSourceOf(ctx);
  // oidc-provider leaves these scopes out, but our userinfo endpoint needs them.
  const requested = splitScope((ctx.oidc.params?.scope as string | undefined) ?? source?.scope);
  const openidScopes = grant?.getOIDCScopeFiltered(requested.filter(isOpenidFamily));
  if (openidScopes) payload.scope = [openidScopes, payload.scope].filter(Boolean).join(' ');
  // Userinfo, introspection and revocation find the grant by this claim.
  payload.grant_id = token.grantId;
  const { authTime, acr } = signInOf(ctx) ?? {};
  if (authTime !== undefined) payload.auth_time = authTime;
  if (acr !== undefined) payload.acr = acr;
};

/** Leaves out each facility that requires a second factor, unless `amr` of the sign-in names one. */
export const membershipsFor = (
  { memberships }: Pick<AccountWithMemberships, 'memberships'>,
  amr: readonly string[] = [],
): readonly Membership[] =>
  memberships.filter(({ requiresSecondFactor }) => !requiresSecondFactor || amr.includes('mfa'));

/** oidc-provider selects the claims of the granted scopes. */
export function claimsOf(account: AccountWithMemberships, amr: readonly string[] | undefined) {
  const facilityRoles = membershipsFor(account, amr).map(({ role }) => roleClaims[role]);
  return {
    sub: account.id,
    name: account.name ?? account.username,
    preferred_username: account.username,
    ...(account.email !== null && { email: account.email, email_verified: account.emailVerified }),
    roles: [...new Set([...account.roles, ...facilityRoles])],
  };
}
