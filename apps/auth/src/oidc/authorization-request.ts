// Rewrites the query of an authorization request before oidc-provider reads it, and checks what the library does not
// check.
//
// A parameter that was sent twice is an array in the query. The rewriting leaves arrays as they are, so that the
// request is rejected.
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { rewriteTokenRequest } from './implicit-flow.ts';
import type { AuthorizationQuery, Next } from './middleware-types.ts';
import type { RegisteredClient } from './registered-client.ts';
import { sentParameters, setEffectiveScope } from './requested-scope.ts';
import { normaliseScope, splitScope } from './scopes.ts';

/** An internal parameter: the social provider that the request chose with `acr_values=idp:NAME`. */
export const idpParameter = 'idp';
const idpPrefix = 'idp:';

/**
 * Moves `idp:NAME` from `acr_values` to the internal parameter. The library rejects `acr_values` without the openid
 * scope, and would compare `idp:NAME` with the acr of the session. A value that the client sent in the internal
 * parameter is removed.
 */
function moveIdp(query: AuthorizationQuery): AuthorizationQuery {
  const { acr_values: acrValues, [idpParameter]: sentByClient, ...others } = query;
  if (Array.isArray(acrValues) || Array.isArray(sentByClient)) return query;
  const acrs = acrValues?.split(' ').filter((value) => value !== '') ?? [];
  const idp = acrs.find((value) => value.startsWith(idpPrefix))?.slice(idpPrefix.length);
  const remaining = acrs.filter((value) => !value.startsWith(idpPrefix));
  return {
    ...others,
    ...(remaining.length > 0 && { acr_values: remaining.join(' ') }),
    ...(idp !== undefined && { [idpParameter]: idp }),
  };
}

/** Many clients always send a nonce. Without an id_token it has no effect, but the library would reject the request. */
function removeUnusedNonce(query: AuthorizationQuery): AuthorizationQuery {
  const { nonce, ...others } = query;
  const { scope, response_type: responseType } = query;
  const issuesIdToken = splitScope(String(scope ?? '')).includes('openid') || String(responseType).includes('id_token');
  return issuesIdToken || Array.isArray(nonce) ? query : others;
}

/** Spaces before, after and between scopes may be repeated (docs/behaviour.md, "Scopes"). */
function removeRepeatedSpaces(query: AuthorizationQuery): AuthorizationQuery {
  return typeof query.scope === 'string' ? { ...query, scope: normaliseScope(query.scope) } : query;
}

/** Rewrites the parameters of an authorization request. Every other parameter stays unchanged. */
export const rewriteAuthorizationQuery = (query: AuthorizationQuery): AuthorizationQuery =>
  removeRepeatedSpaces(removeUnusedNonce(moveIdp(rewriteTokenRequest(query))));

export function rewriteAuthorizationRequests(provider: Provider, authorizationPath: string): void {
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    if (ctx.method === 'GET' && ctx.path === authorizationPath) {
      ctx.query = rewriteAuthorizationQuery(ctx.query as AuthorizationQuery) as typeof ctx.query;
    }
    return next();
  });
}

/**
 * `extraParams` of the configuration: the library calls this function when its own checks of the request have passed.
 */
export function createRequestCheck(isSocialProvider: (name: string) => boolean) {
  return async (ctx: KoaContextWithOIDC, idp: string | undefined, client: RegisteredClient): Promise<void> => {
    rejectRepeatedParameters(sentParameters(ctx));
    setEffectiveScope(ctx, client);
    if (idp !== undefined && !isSocialProvider(idp)) {
      throw new errors.InvalidRequest('acr_values names an identity provider that is not known');
    }
  };
}

/**
 * RFC 6749 section 3.1: parameters must not be sent more than once. The library checks the parameters that it knows;
 * this function checks all others. RFC 8707 allows `resource` to be repeated.
 */
function rejectRepeatedParameters(query: AuthorizationQuery): void {
  const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]) && name !== 'resource');
  if (repeated.length > 0)
    throw new errors.InvalidRequest(`parameters must not be provided twice: ${repeated.join(' ')}`);
}
