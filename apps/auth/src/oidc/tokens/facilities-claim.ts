// Selects the facilities for the claim `facilities` of an access token (docs/behaviour-auth.md, "Access tokens").
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AccountStore } from '../../accounts/store.ts';
import type { Membership } from '../../facilities/roles.ts';
import { ownMetadataOf } from '../clients/registered-client.ts';
import { requestState } from '../request-state.ts';
import { type ScopeTable, scopesOfRole, splitScope } from '../scopes.ts';
import { orUnavailable } from '../unavailable.ts';
import { membershipsFor } from './claims.ts';
import { checkGrantedResource } from './resource-server.ts';

/** A longer token would not fit into a header. */
const maxFacilities = 200;

export interface TokenOfFacilities {
  readonly scope?: string | undefined;
  /** Undefined for client_credentials. */
  readonly accountId?: string | undefined;
  /** Of the sign-in of the user. */
  readonly amr?: readonly string[] | undefined;
}

/** Resolves to undefined if the scope needs no facilities. */
export type FacilitiesClaim = (
  ctx: KoaContextWithOIDC,
  token: TokenOfFacilities,
) => Promise<readonly string[] | undefined>;

export function createFacilitiesClaim({
  accounts,
  scopes,
}: {
  accounts: AccountStore;
  scopes: ScopeTable;
}): FacilitiesClaim {
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
    // Without an account, a client has access to no facility.
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
