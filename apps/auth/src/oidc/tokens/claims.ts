// Defines the values of the claims of the id_token and of userinfo. claimsByScope (../scopes.ts) lists the claims.
import type { AccountWithMemberships } from '../../accounts/store.ts';
import { type Membership, roleClaims } from '../../facilities/roles.ts';

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
