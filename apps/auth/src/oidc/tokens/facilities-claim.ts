// Selects the facilities that an access token for bookings lists in its claim `facilities` (docs/behaviour.md, "Access
// tokens").
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { FacilityStore } from '../../facilities/store.ts';
import { ownMetadataOf } from '../clients/registered-client.ts';
import { requestState } from '../request-state.ts';
import { needsFacilities, type ScopeTable } from '../scopes.ts';
import { orUnavailable } from '../unavailable.ts';

/** The maximum number of facilities in one token. With more facilities, the token would be too long for a header. */
const maxFacilities = 200;

export interface TokenOfFacilities {
  readonly scope?: string | undefined;
  /** Undefined for the grant type client_credentials. */
  readonly accountId?: string | undefined;
}

/**
 * Returns the facility ids for the claim, or undefined if the scope needs no facilities.
 * @throws {errors.InvalidRequest} if there are more than `maxFacilities`, or if the account has no role at a requested
 *   facility
 * @throws {errors.InvalidScope} if a service account has no role at any facility
 */
export type FacilitiesClaim = (
  ctx: KoaContextWithOIDC,
  token: TokenOfFacilities,
) => Promise<readonly string[] | undefined>;

export function createFacilitiesClaim(facilities: FacilityStore, scopes: ScopeTable): FacilitiesClaim {
  const facilitiesOfAccount = async (ctx: KoaContextWithOIDC, accountId: string): Promise<readonly string[]> => {
    // An earlier step may have read the account, with its facilities, from the database.
    const { account } = requestState(ctx);
    if (account?.id === accountId) return account.facilityIds;
    return orUnavailable(() => facilities.facilityIdsOf(accountId));
  };

  const facilitiesOfClient = (ctx: KoaContextWithOIDC): readonly string[] => {
    const { account_id: accountId, facility_ids: ids = [] } = ctx.oidc.client ? ownMetadataOf(ctx.oidc.client) : {};
    // Without an account, the token gives access to no facility.
    if (accountId !== undefined && ids.length === 0) {
      throw new errors.InvalidScope('the account has no role at any facility', scopes.bookings);
    }
    return ids;
  };

  return async (ctx, { scope, accountId }) => {
    if (!needsFacilities(scopes, scope)) return undefined;
    const state = requestState(ctx);
    // Several steps of a request need the facilities.
    state.facilities ??= select(
      accountId === undefined ? facilitiesOfClient(ctx) : await facilitiesOfAccount(ctx, accountId),
      requestedFacilities(ctx),
    );
    return state.facilities;
  };
}

/** Returns the values of the parameter `facility` of a token request. A request may repeat this parameter. */
function requestedFacilities(ctx: KoaContextWithOIDC): readonly string[] {
  const { facility = [] } = (ctx.oidc.body ?? {}) as { facility?: string | string[] };
  return [...new Set([facility].flat())];
}

/** Returns the requested facilities, or all facilities of the account (`ids`) if none are requested. */
function select(ids: readonly string[], requested: readonly string[]): readonly string[] {
  const selected = requested.length === 0 ? ids : requested;
  if (selected.length > maxFacilities) {
    throw new errors.InvalidRequest(
      `a token lists ${maxFacilities} facilities at most; select some with the repeatable parameter facility`,
    );
  }
  if (requested.some((id) => !ids.includes(id))) {
    throw new errors.InvalidRequest('facility contains one where the subject has no role');
  }
  return selected;
}

/**
 * Makes oidc-provider select the facilities of the access token before it consumes an authorization code or a device
 * code. After an error in the parameter `facility`, the client can therefore use the code again.
 */
export function selectFacilitiesBeforeConsume(provider: Provider, facilitiesClaim: FacilitiesClaim): void {
  const models = [provider.AuthorizationCode, provider.DeviceCode] as const;
  for (const { prototype } of models) {
    const code = prototype as InstanceType<(typeof models)[number]>;
    const { consume } = code;
    code.consume = async function consumeIfFacilitiesAreValid(this: typeof code) {
      const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
      if (ctx && this.accountId) await facilitiesClaim(ctx, this);
      return consume.call(this);
    };
  }
}
