// Defines the values of the claims of the id_token and of userinfo. claimsByScope (../scopes.ts) lists the claims.
import type { AccountWithMemberships } from '../../accounts/store.ts';
import { roleClaims } from '../../facilities/roles.ts';

/** oidc-provider selects the claims of the granted scopes. */
export function claimsOf(account: AccountWithMemberships) {
  return {
    sub: account.id,
    name: account.name ?? account.username,
    preferred_username: account.username,
    ...(account.email !== null && { email: account.email, email_verified: account.emailVerified }),
    roles: [...new Set([...account.roles, ...account.memberships.map(({ role }) => roleClaims[role])])],
  };
}
