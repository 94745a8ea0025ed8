// What may an authorization request ask for? Before the library reads it: `token` alone, `acr_values=idp:…`. After: rule 2 of the
// scopes, what the client may have, and offline_access without prompt=consent. Specification, "Scopes"; contract section 6.
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { allowedScopes, effectiveScopes, type RegisteredClient } from './clients/registered.ts';
import { isImplicitToken, rewriteTokenRequest } from './implicit.ts';
import type { Next } from './provider-types.ts';
import { findScopeFault, type ScopeTable } from './scopes.ts';

/** The parameter, ours alone, that carries the social provider asked for by `acr_values=idp:NAME`. */
export const idpParameter = 'idp';
const idpPrefix = 'idp:';

type Query = Record<string, string | string[] | undefined>;

/** The library refuses acr_values without openid, and would put `idp:…` into its own acr checks: so it travels by itself. */
function moveIdp({ [idpParameter]: _byHand, ...query }: Query): Query {
  if (typeof query.acr_values !== 'string') return query;
  const { acr_values: acrValues, ...rest } = query;
  const values = (acrValues as string).split(' ').filter((value) => value !== '');
  const idp = values.find((value) => value.startsWith(idpPrefix))?.slice(idpPrefix.length);
  const others = values.filter((value) => !value.startsWith(idpPrefix));
  return {
    ...rest,
    ...(others.length > 0 && { acr_values: others.join(' ') }),
    ...(idp !== undefined && { [idpParameter]: idp }),
  };
}

export function registerRequestReading(provider: Provider, authorizationPath: string): void {
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    if (ctx.method === 'GET' && ctx.path === authorizationPath) {
      const query = ctx.query as Query;
      ctx.query = moveIdp(rewriteTokenRequest(query)) as typeof ctx.query;
    }
    return next();
  });
}

export interface RequestRules {
  readonly scopes: ScopeTable;
  readonly isSocialProvider: (name: string) => boolean;
}

/** Runs once the client, its redirect URI and the response type are known to be good, so that its errors go back by redirect. */
export function createRequestCheck({ scopes, isSocialProvider }: RequestRules) {
  return async (ctx: KoaContextWithOIDC, idp: string | undefined, client: RegisteredClient): Promise<void> => {
    const params = ctx.oidc.params as Record<string, string | undefined>;
    const asked = typeof ctx.query.scope === 'string' ? ctx.query.scope : undefined;
    const responseType = params.response_type ?? '';
    const givesCode = responseType === 'code';
    const requested = effectiveScopes(client, asked, givesCode);
    const fault = findScopeFault(scopes, {
      requested,
      allowed: allowedScopes(client),
      issuesIdToken: givesCode || (responseType.includes('id_token') && !isImplicitToken(responseType)),
    });
    if (fault) throw new errors.InvalidScope(fault.description, fault.scope);
    // The library takes offline_access out unless prompt=consent; here it is a scope like any other where there is a code, and none
    // where there is not.
    params.scope = requested.join(' ');
    if (idp !== undefined && !isSocialProvider(idp)) {
      throw new errors.InvalidRequest('acr_values names an identity provider that is not known');
    }
  };
}
