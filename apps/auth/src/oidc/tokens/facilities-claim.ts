// Selects the facilities that an access token for bookings lists in its claim `facilities` (docs/behaviour.md, "Access
// tokens").
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { FacilityStore } from '../../facilities/store.ts';
import { type ScopeTable, splitScope } from '../authorization/scopes.ts';
import { requestState } from '../request-state.ts';
import { orUnavailable } from '../unavailable.ts';

/** The maximum number of facilities in one token. With more facilities, the token would be too long for a header. */
export const maxFacilities = 200;

/**
 * Returns the facility ids for the claim.
 * @throws {errors.InvalidRequest} if there are more than `maxFacilities`, or if the account has no role at a requested
 *   facility
 */
export type FacilitiesClaim = (ctx: KoaContextWithOIDC, accountId: string) => Promise<readonly string[]>;

/**
 * Several steps of a request need the facilities of its access token. The facilities are selected once and stored in
 * the state of the request.
 */
export const createFacilitiesClaim =
  (facilities: FacilityStore): FacilitiesClaim =>
  (ctx, accountId) => {
    const state = requestState(ctx);
    const select = async () => {
      // An earlier step may have read the account, with its facilities, from the database.
      const ids =
        state.account?.id === accountId
          ? state.account.facilityIds
          : await orUnavailable(() => facilities.facilityIdsOf(accountId));
      return selectFacilities(ids, requestedFacilities(ctx));
    };
    state.facilitiesClaim ??= select();
    return state.facilitiesClaim;
  };

/** Returns the values of the parameter `facility` of a token request. A request may repeat this parameter. */
export function requestedFacilities(ctx: KoaContextWithOIDC): readonly string[] {
  const { facility = [] } = (ctx.oidc.body ?? {}) as { facility?: string | string[] };
  return [...new Set([facility].flat())];
}

/**
 * Returns the requested facilities, or all facilities of the account (`ids`) if none are requested.
 * @throws {errors.InvalidRequest} if more than `maxFacilities` are selected, or if `ids` lacks a requested facility
 */
export function selectFacilities(ids: readonly string[], requested: readonly string[]): readonly string[] {
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
export function selectFacilitiesBeforeConsume(
  provider: Provider,
  { scopes, facilitiesClaim }: { scopes: ScopeTable; facilitiesClaim: FacilitiesClaim },
): void {
  const models = [provider.AuthorizationCode, provider.DeviceCode] as const;
  for (const { prototype } of models) {
    const code = prototype as InstanceType<(typeof models)[number]>;
    const { consume } = code;
    code.consume = async function consumeIfFacilitiesAreValid(this: typeof code) {
      // `Provider.ctx` is the context of the current request. It is undefined outside a request.
      const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
      if (ctx && this.accountId && splitScope(this.scope).includes(scopes.bookings)) {
        await facilitiesClaim(ctx, this.accountId);
      }
      return consume.call(this);
    };
  }
}
