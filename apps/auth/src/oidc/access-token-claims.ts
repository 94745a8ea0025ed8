// What does an access token say? RFC 9068 claims, the claim `facilities` of a bookings token, the openid scopes that userinfo answers
// to, and the grant that userinfo looks up. Contract section 6.
import { type Configuration, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { FacilityStore } from '../facilities/store.ts';
import { allowedScopes, ownMetadataOf } from './registered-client.ts';
import { requestState } from './request-state.ts';
import { findScopeError, isOpenidFamily, offlineAccess, type ScopeTable, splitScope } from './scopes.ts';
import { orUnavailable } from './unavailable.ts';

/** So many fit into a header; a subject of more names some with the token parameter `facility`. */
export const maxFacilities = 200;

export type AccessTokenRules = ReturnType<typeof createAccessTokenRules>;

export function createAccessTokenRules({ facilities, scopes }: { facilities: FacilityStore; scopes: ScopeTable }) {
  /** The ids that the claim will hold; looked up once a request, so that a fault can show before a code or token is used up. */
  const facilitiesFor = (ctx: KoaContextWithOIDC, accountId: string): Promise<readonly string[]> => {
    const notes = requestState(ctx);
    notes.chosenFacilities ??= orUnavailable(() => facilities.facilityIdsOf(accountId)).then((ids) =>
      selectFacilities(ids, namedFacilities(ctx)),
    );
    return notes.chosenFacilities;
  };

  /**
   * A code or refresh token gives what its client may have now: of it goes what was taken from the client since, and a refresh narrowed by
   * `scope` keeps the rules of a request. @throws {errors.InvalidGrant | errors.InvalidScope}
   */
  const keepToClient = (ctx: KoaContextWithOIDC, token: { kind: string; scope?: string | undefined }): void => {
    const allowed = ctx.oidc.client ? allowedScopes(ctx.oidc.client) : [];
    const left = splitScope(token.scope).filter((scope) => allowed.includes(scope));
    const kept = left.includes('openid') ? left : left.filter((scope) => !isOpenidFamily(scope));
    if (
      kept.every((scope) => scope === offlineAccess) ||
      (token.kind === 'RefreshToken' && !kept.includes(offlineAccess))
    ) {
      throw new errors.InvalidGrant({ detail: 'the client may no longer have what was granted' });
    }
    token.scope = kept.join(' ');
    const narrowed = splitScope(ctx.oidc.params?.scope as string | undefined);
    if (narrowed.length === 0) return;
    const fault = findScopeError(scopes, { requested: narrowed, allowed, issuesIdToken: true });
    if (fault) throw new errors.InvalidScope(fault.description, fault.scope);
  };

  const extraTokenClaims: Configuration['extraTokenClaims'] = async (ctx, token) => {
    // grants/client-credentials.ts has already selected the facilities.
    if (token.kind === 'ClientCredentials') return token.extra;
    if (!splitScope(token.scope).includes(scopes.bookings)) return undefined;
    return { facilities: await facilitiesFor(ctx, token.accountId) };
  };

  /** The library uses a code up before it asks for the account. */
  const keepCodeOnFault = (provider: Provider): void => {
    const code = provider.AuthorizationCode.prototype as InstanceType<Provider['AuthorizationCode']>;
    const { consume } = code;
    code.consume = async function consumeUnlessFaulty(this: typeof code) {
      const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
      if (ctx && this.accountId && splitScope(this.scope).includes(scopes.bookings)) {
        await facilitiesFor(ctx, this.accountId);
      }
      return consume.call(this);
    };
  };

  /** Last hand on the JWT before it is signed. */
  const customizeJwt: NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt'] = (ctx, token, jwt) => {
    const payload = jwt.payload as Record<string, unknown>;
    if (token.kind === 'ClientCredentials') {
      payload.sub = (token.client && ownMetadataOf(token.client).account_id) ?? payload.sub;
      return;
    }
    const { Grant: grant, AuthorizationCode: code, RefreshToken: refresh, Session: session } = ctx.oidc.entities;
    const requested = splitScope((ctx.oidc.params?.scope as string | undefined) ?? (code ?? refresh)?.scope);
    const openid = grant?.getOIDCScopeFiltered(requested.filter(isOpenidFamily));
    if (openid) payload.scope = [openid, payload.scope].filter(Boolean).join(' ');
    payload.grant_id = token.grantId;
    const source = code ?? refresh;
    const authTime = source?.authTime ?? session?.authTime();
    if (authTime !== undefined) payload.auth_time = authTime;
    const acr = source?.acr ?? session?.acr;
    if (acr !== undefined) payload.acr = acr;
  };

  return { extraTokenClaims, customizeJwt, facilitiesFor, keepToClient, keepCodeOnFault };
}

export function namedFacilities(ctx: KoaContextWithOIDC): readonly string[] {
  const named = (ctx.oidc.body as { facility?: string | string[] } | undefined)?.facility;
  return [...new Set(named === undefined ? [] : Array.isArray(named) ? named : [named])];
}

export function selectFacilities(ids: readonly string[], named: readonly string[]): readonly string[] {
  const chosen = named.length === 0 ? ids : named;
  if (chosen.length > maxFacilities) {
    throw new errors.InvalidRequest(
      `a token holds ${maxFacilities} facilities at most; name the wanted ones with the parameter facility, repeated`,
    );
  }
  const foreign = named.filter((id) => !ids.includes(id));
  if (foreign.length > 0) throw new errors.InvalidRequest('facility names one where the subject has no role');
  return chosen;
}
