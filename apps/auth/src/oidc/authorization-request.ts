// What may an authorization request ask for? Before the library reads it: `token` alone, `acr_values=idp:…`. After: rule 2 of the
// scopes, what the client may have, and offline_access without prompt=consent. Specification, "Scopes"; contract section 6.
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { isImplicitToken, rewriteTokenRequest } from './implicit-flow.ts';
import type { Next } from './middleware-types.ts';
import { allowedScopes, effectiveScopes, type RegisteredClient } from './registered-client.ts';
import { findScopeError, type ScopeTable, splitScope } from './scopes.ts';

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

/** Many clients send a nonce always; where no id_token is issued it means nothing, and the library would refuse it. */
function dropIdleNonce({ nonce, ...query }: Query): Query {
  const { scope, response_type: type } = query;
  const meaningful = splitScope(String(scope ?? '')).includes('openid') || String(type ?? '').includes('id_token');
  return meaningful ? { ...query, nonce } : query;
}

export function registerRequestReading(provider: Provider, authorizationPath: string): void {
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    if (ctx.method === 'GET' && ctx.path === authorizationPath) {
      ctx.query = dropIdleNonce(moveIdp(rewriteTokenRequest(ctx.query as Query))) as typeof ctx.query;
    }
    return next();
  });
}

const effectiveFor = (client: RegisteredClient, responseType: string, scope: string | undefined): readonly string[] =>
  effectiveScopes(client, scope, responseType === 'code');

/**
 * The scope rules, asked when the library asks whether the client may have the response type: earlier than its own rule that
 * some parameters need openid, which would hide them behind invalid_request.
 */
export function registerScopeRules(provider: Provider, scopes: ScopeTable): void {
  const client = provider.Client.prototype as RegisteredClient;
  const { responseTypeAllowed } = client;
  client.responseTypeAllowed = function responseTypeWithScopes(this: RegisteredClient, type): boolean {
    const allowed = responseTypeAllowed.call(this, type);
    const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
    if (ctx?.oidc?.route !== 'authorization') return allowed;
    // RFC 6749 sections 4.1.2.1 and 4.2.2.1; the library would say invalid_request.
    if (!allowed) throw new errors.UnauthorizedClient('this client may not use this response type');
    const fault = findScopeError(scopes, {
      requested: effectiveFor(this, type, ctx.oidc.params?.scope as string | undefined),
      allowed: allowedScopes(this),
      issuesIdToken: type === 'code' || (type.includes('id_token') && !isImplicitToken(type)),
    });
    if (fault) throw new errors.InvalidScope(fault.description, fault.scope);
    return true;
  };
}

/** Runs when the request is known to be good otherwise. */
export function createRequestCheck(isSocialProvider: (name: string) => boolean) {
  return async (ctx: KoaContextWithOIDC, idp: string | undefined, client: RegisteredClient): Promise<void> => {
    const params = ctx.oidc.params as Record<string, string | undefined>;
    const asked = typeof ctx.query.scope === 'string' ? ctx.query.scope : undefined;
    // The library takes offline_access out unless prompt=consent; here it is a scope like any other where there is a code, and none
    // where there is not.
    params.scope = effectiveFor(client, params.response_type ?? '', asked).join(' ');
    if (idp !== undefined && !isSocialProvider(idp)) {
      throw new errors.InvalidRequest('acr_values names an identity provider that is not known');
    }
  };
}
