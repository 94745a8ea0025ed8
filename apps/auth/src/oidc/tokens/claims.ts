// Adds our own claims to access tokens, which then follow RFC 9068: among them, the facilities that the token is for
// (docs/behaviour-auth.md, "Access tokens"). Finds the account and the scopes of a token. Defines the claims of users.
import { type Configuration, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AccountStore, AccountWithMemberships } from '../../accounts/store.ts';
import { type Membership, roleClaims } from '../../facilities/roles.ts';
import { limitSubject, type RateLimit } from '../clients/policy.ts';
import { allowedScopes, checkRequestedScopes, ownMetadataOf } from '../clients/registered-client.ts';
import { type AuthenticationContext, grantSourceOf, requestState, signInOf } from '../request-state.ts';
import { isOpenidFamily, offlineAccess, type ScopeTable, scopesOfRole, splitScope } from '../scopes.ts';
import { orUnavailable } from '../unavailable.ts';
import { checkGrantedResource } from './resource-server.ts';

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

/** The setting `findAccount`. */
export function createFindAccount(
  scopes: ScopeTable,
  accounts: AccountStore,
  facilitiesClaim: FacilitiesClaim,
  tokenRateLimit: RateLimit,
): Configuration['findAccount'] {
  return async (ctx, id, token) => {
    const read = requestState(ctx).account;
    const account = read?.id === id ? read : await orUnavailable(() => accounts.findWithMemberships(id));
    if (!account || account.isDisabled) return undefined;
    requestState(ctx).account = account;
    // Before a refresh token is consumed, so it stays usable after an error here.
    if (ctx.oidc.route === 'token' && token) {
      limitSubject(ctx, tokenRateLimit, id);
      limitToAllowedScopes(ctx, token, scopes);
      checkGrantedResource(ctx, token as { resource?: string | string[] });
      const narrowed = ctx.oidc.params?.scope as string | undefined;
      await facilitiesClaim(ctx, {
        scope: narrowed || token.scope,
        accountId: id,
        amr: (token as AuthenticationContext).amr,
      });
    }
    // An opaque token at userinfo has the `amr` that createExtraTokenClaims stored in it.
    const amrOf = () => signInOf(ctx)?.amr ?? (ctx.oidc.entities.AccessToken?.extra?.amr as string[] | undefined);
    return { accountId: account.id, claims: () => claimsOf(account, amrOf()) };
  };
}

/** Removes the scopes that the client has lost since its code or refresh token was stored. */
function limitToAllowedScopes(
  ctx: KoaContextWithOIDC,
  token: { kind: string; scope?: string | undefined },
  scopes: ScopeTable,
): void {
  const { client } = ctx.oidc;
  const allowed = client ? allowedScopes(client) : [];
  const remaining = splitScope(token.scope).filter((scope) => allowed.includes(scope));
  // Rule 2 in scopes.ts
  const valid = remaining.includes('openid') ? remaining : remaining.filter((scope) => !isOpenidFamily(scope));
  const hasAccessTokenScope = valid.some((scope) => scope !== offlineAccess);
  if (!hasAccessTokenScope || (token.kind === 'RefreshToken' && !valid.includes(offlineAccess))) {
    throw new errors.InvalidGrant({ detail: 'the client may not have the granted scopes any more' });
  }
  token.scope = valid.join(' ');
  const requested = splitScope(ctx.oidc.params?.scope as string | undefined);
  if (client && requested.length > 0) checkRequestedScopes(scopes, client, { requested, issuesIdToken: true });
}

/** Returns the requested scopes that the user granted (specification, "Scopes" rule 3). */
export function grantedScope(ctx: KoaContextWithOIDC, requested: string | undefined, audience: string) {
  const { grant } = ctx.oidc;
  if (!grant || requested === undefined) return requested;
  const granted = new Set([...splitScope(grant.getOIDCScope()), ...splitScope(grant.getResourceScope(audience))]);
  return splitScope(requested)
    .filter((scope) => granted.has(scope))
    .join(' ');
}

/** A longer token would not fit into a header. */
const maxFacilities = 200;

export interface TokenOfFacilities {
  readonly scope?: string | undefined;
  /** Undefined for client_credentials. */
  readonly accountId?: string | undefined;
  /** How the user signed in. Undefined for client_credentials. */
  readonly amr?: readonly string[] | undefined;
}

/** Resolves to undefined if the scope needs no facilities. */
export type FacilitiesClaim = (
  ctx: KoaContextWithOIDC,
  token: TokenOfFacilities,
) => Promise<readonly string[] | undefined>;

export function createFacilitiesClaim(accounts: AccountStore, scopes: ScopeTable): FacilitiesClaim {
  const membershipsOfAccount = async (
    ctx: KoaContextWithOIDC,
    accountId: string,
    amr: readonly string[] | undefined,
  ): Promise<readonly Membership[]> => {
    const { account } = requestState(ctx);
    const found =
      account?.id === accountId ? account : await orUnavailable(() => accounts.findWithMemberships(accountId));
    return found ? membershipsFor(found, amr) : [];
  };

  return async (ctx, { scope, accountId, amr }) => {
    const granted = splitScope(scope).filter((name) => scopes.ofFacilities.includes(name));
    if (granted.length === 0) return undefined;
    const client = ctx.oidc.client && ownMetadataOf(ctx.oidc.client);
    // A client that has no account has access to no facility.
    const memberships =
      accountId === undefined ? (client?.memberships ?? []) : await membershipsOfAccount(ctx, accountId, amr);
    const ids = memberships
      .filter(({ role }) => granted.every((name) => scopesOfRole(role, scopes).includes(name)))
      .map(({ facilityId }) => facilityId);
    if (accountId === undefined && client?.account_id !== undefined && ids.length === 0) {
      throw new errors.InvalidScope('the account has no role for this scope at any facility', granted.join(' '));
    }
    return select(ids, requestedFacilities(ctx));
  };
}

function requestedFacilities(ctx: KoaContextWithOIDC): readonly string[] {
  const { facility = [] } = (ctx.oidc.body ?? {}) as { facility?: string | string[] };
  return [...new Set([facility].flat())];
}

function select(ids: readonly string[], requested: readonly string[]): readonly string[] {
  const selected = requested.length === 0 ? ids : requested;
  if (selected.length > maxFacilities) {
    throw new errors.InvalidRequest(
      `a token lists ${maxFacilities} facilities at most; select some with the repeatable parameter facility`,
    );
  }
  if (requested.some((id) => !ids.includes(id))) {
    throw new errors.InvalidRequest('the subject lacks access to a requested facility');
  }
  return selected;
}

/** After an error in the parameters `facility` and `resource`, the client can use the code again. */
export function selectFacilitiesBeforeConsume(provider: Provider, facilitiesClaim: FacilitiesClaim): void {
  const models = [provider.AuthorizationCode, provider.DeviceCode] as const;
  for (const { prototype } of models) {
    const code = prototype as InstanceType<(typeof models)[number]>;
    const { consume } = code;
    code.consume = async function consumeIfFacilitiesAreValid(this: typeof code) {
      const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
      if (ctx) checkGrantedResource(ctx, this);
      if (ctx && this.accountId) await facilitiesClaim(ctx, this);
      return consume.call(this);
    };
  }
}
