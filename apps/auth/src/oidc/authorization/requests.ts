// Rewrites the query of an authorization request before oidc-provider reads it, and makes checks that the library does
// not make.
//
// A parameter that was sent more than once is an array in the query. The functions here do not change arrays. A later
// check then finds the array and rejects the request.
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import type { RegisteredClient } from '../clients/registered-client.ts';
import type { AuthorizationQuery, Next } from '../middleware-types.ts';
import { replaceTokenResponseType } from './implicit-flow.ts';
import { sentParameters, setEffectiveScope } from './requested-scope.ts';
import { normaliseScope, splitScope } from './scopes.ts';

/** An internal parameter. Its value is the social provider that the request chose with `acr_values=idp:NAME`. */
export const idpParameter = 'idp';
const idpPrefix = 'idp:';

/**
 * Moves the provider in `idp:NAME` from `acr_values` to the internal parameter `idp`. If `idp:NAME` stayed in
 * `acr_values`, oidc-provider would reject requests without the scope openid, and would compare `idp:NAME` with the acr
 * of the session. If the client itself sent the parameter `idp`, the value of the client is removed.
 */
function moveIdp(query: AuthorizationQuery): AuthorizationQuery {
  const { acr_values: acrValues, [idpParameter]: sentByClient, ...others } = query;
  if (Array.isArray(acrValues) || Array.isArray(sentByClient)) return query;
  const values = acrValues?.split(' ').filter((value) => value !== '') ?? [];
  const idp = values.find((value) => value.startsWith(idpPrefix))?.slice(idpPrefix.length);
  const remaining = values.filter((value) => !value.startsWith(idpPrefix));
  return {
    ...others,
    ...(remaining.length > 0 && { acr_values: remaining.join(' ') }),
    ...(idp !== undefined && { [idpParameter]: idp }),
  };
}

/**
 * Removes the nonce from a request that gets no id_token. Many clients always send a nonce. oidc-provider would reject
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

export function rewriteAuthorizationQuery(query: AuthorizationQuery): AuthorizationQuery {
  // oidc-provider does not support `response_type=token`.
  const supported = replaceTokenResponseType(query);
  return removeRepeatedSpaces(removeUnusedNonce(moveIdp(supported)));
}

export function rewriteAuthorizationRequests(provider: Provider, authorizationPath: string): void {
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    // The server has already redirected POST requests to GET requests (endpoints/posted-authorization.ts).
    if (ctx.method === 'GET' && ctx.path === authorizationPath) {
      ctx.query = rewriteAuthorizationQuery(ctx.query as AuthorizationQuery) as typeof ctx.query;
    }
    return next();
  });
}

/**
 * Returns a function that completes the checks of an authorization request, and sets its effective scope. The setting
 * `extraParams` of oidc-provider contains this function, as the check of the parameter `idp`. The library calls it
 * after its own checks of the request. The function throws `InvalidRequest` if a parameter was sent more than once, or
 * if the requested social provider is unknown.
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
 * Rejects parameters that were sent more than once (RFC 6749 section 3.1). oidc-provider checks only the parameters
 * that it knows. RFC 8707 allows a request to repeat the parameter `resource`.
 */
function rejectRepeatedParameters(query: AuthorizationQuery): void {
  const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]) && name !== 'resource');
  if (repeated.length === 0) return;
  throw new errors.InvalidRequest(`parameters must not be provided twice: ${repeated.join(' ')}`);
}
