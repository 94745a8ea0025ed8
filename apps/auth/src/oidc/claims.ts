// What do the id_token and userinfo say of an account? The library picks from this by the granted scopes (scopes.ts, claimsOfScopes).

export interface ProviderAccount {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly roles: readonly string[];
  readonly disabledAt: Date | null;
}

export function claimsOf(account: ProviderAccount) {
  return {
    sub: account.id,
    name: account.name ?? account.username,
    preferred_username: account.username,
    ...(account.email !== null && { email: account.email, email_verified: account.emailVerified }),
    roles: account.roles,
  };
}
