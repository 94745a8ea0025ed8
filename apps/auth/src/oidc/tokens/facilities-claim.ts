// Selects the facilities for the claim `facilities` of an access token (docs/behaviour.md, "Access tokens").
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Services } from '../../services.ts';
import { ownMetadataOf } from '../clients/registered-client.ts';
import { requestState } from '../request-state.ts';
import { needsFacilities } from '../scopes.ts';
import { orUnavailable } from '../unavailable.ts';

/** A longer token would not fit into a header. */
const maxFacilities = 200;

export interface TokenOfFacilities {
  readonly scope?: string | undefined;
  /** Undefined for client_credentials. */
  readonly accountId?: string | undefined;
}

/** Resolves to undefined if the scope needs no facilities. */
export type FacilitiesClaim = (
  ctx: KoaContextWithOIDC,
  token: TokenOfFacilities,
) => Promise<readonly string[] | undefined>;

export function createFacilitiesClaim({ accounts, scopes }: Services): FacilitiesClaim {
  const facilitiesOfAccount = async (ctx: KoaContextWithOIDC, accountId: string): Promise<readonly string[]> => {
    const { account } = requestState(ctx);
    const found =
      account?.id === accountId ? account : await orUnavailable(() => accounts.findWithFacilities(accountId));
    return found?.facilityIds ?? [];
  };

  const facilitiesOfClient = (ctx: KoaContextWithOIDC): readonly string[] => {
    const { account_id: accountId, facility_ids: ids = [] } = ctx.oidc.client ? ownMetadataOf(ctx.oidc.client) : {};
    // Without an account, the token gives access to no facility.
    if (accountId !== undefined && ids.length === 0) {
      throw new errors.InvalidScope('the account has no role at any facility', scopes.ofFacilities.join(' '));
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
    throw new errors.InvalidRequest('facility contains one where the subject has no role');
  }
  return selected;
}

/** After an error in the parameter `facility`, the client can use the code again. */
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
