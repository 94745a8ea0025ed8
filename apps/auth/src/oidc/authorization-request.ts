// Rewrites the query of an authorization request before oidc-provider reads it, and makes checks that the library does
// not make.
//
// A parameter that was sent more than once is an array in the query. The functions here do not change arrays, so that
// a later check rejects the request.
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { rewriteTokenRequest } from './implicit-flow.ts';
import type { AuthorizationQuery, Next } from './middleware-types.ts';
import type { RegisteredClient } from './registered-client.ts';
import { sentParameters, setEffectiveScope } from './requested-scope.ts';
import { normaliseScope, splitScope } from './scopes.ts';

/** An internal parameter. Its value is the social provider that the request chose with `acr_values=idp:NAME`. */
export const idpParameter = 'idp';
const idpPrefix = 'idp:';

/**
 * Moves `idp:NAME` from `acr_values` to the internal parameter. If `idp:NAME` stayed in `acr_values`, the library would
 * reject requests without the scope openid, and would compare `idp:NAME` with the acr of the session. If the client
 * sent the internal parameter itself, its value is removed.
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

/**
 * Removes the nonce from a request that gets no id_token. Many clients always send a nonce. The library would reject
 * such a request, although the nonce has no effect.
 */
function removeUnusedNonce(query: AuthorizationQuery): AuthorizationQuery {
  const { nonce, ...others } = query;
  const { scope, response_type: responseType } = query;
  const issuesIdToken = splitScope(String(scope ?? '')).includes('openid') || String(responseType).includes('id_token');
  return issuesIdToken || Array.isArray(nonce) ? query : others;
}

/** Removes extra spaces before, after and between scopes. Clients may send them (docs/behaviour.md, "Scopes"). */
function removeRepeatedSpaces(query: AuthorizationQuery): AuthorizationQuery {
  return typeof query.scope === 'string' ? { ...query, scope: normaliseScope(query.scope) } : query;
}

/** Rewrites the parameters `response_type`, `response_mode`, `acr_values`, `nonce` and `scope` where necessary. */
export const rewriteAuthorizationQuery = (query: AuthorizationQuery): AuthorizationQuery =>
  removeRepeatedSpaces(removeUnusedNonce(moveIdp(rewriteTokenRequest(query))));

/** Registers the middleware that rewrites the query of GET requests. */
export function rewriteAuthorizationRequests(provider: Provider, authorizationPath: string): void {
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    if (ctx.method === 'GET' && ctx.path === authorizationPath) {
      ctx.query = rewriteAuthorizationQuery(ctx.query as AuthorizationQuery) as typeof ctx.query;
    }
    return next();
  });
}

/**
 * Returns the check for the setting `extraParams` of the configuration. The library calls it after its own checks of
 * the request have passed. The check throws `InvalidRequest`.
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
