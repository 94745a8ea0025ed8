// Defines the values of the claims of the id_token and of userinfo. claimsByScope (../scopes.ts) lists the claims.

export interface ProviderAccount {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly roles: readonly string[];
  readonly disabledAt: Date | null;
  readonly facilityIds: readonly string[];
}

/** oidc-provider selects the claims of the granted scopes. */
export function claimsOf(account: Omit<ProviderAccount, 'facilityIds'>) {
  return {
    sub: account.id,
    name: account.name ?? account.username,
    preferred_username: account.username,
    ...(account.email !== null && { email: account.email, email_verified: account.emailVerified }),
    roles: account.roles,
  };
}
