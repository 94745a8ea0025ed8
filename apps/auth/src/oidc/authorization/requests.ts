// Rewrites the query of an authorization request before oidc-provider reads it, and makes checks that the library does
// not make.
//
// A parameter that was sent more than once is an array in the query. The functions here do not change arrays. A later
// check then finds the array and rejects the request.
import { decodeJwt } from 'jose';
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { effectiveScopes, type RegisteredClient } from '../clients/registered-client.ts';
import type { AuthorizationQuery, Next } from '../middleware-types.ts';
import { normaliseScope, splitScope } from '../scopes.ts';
import { replaceTokenResponseType } from './implicit-flow.ts';

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
 * Returns the check of the parameter `idp` for the setting `extraParams` of oidc-provider. The library calls it for
 * every request after its own checks, so it also sets the effective scope. The function throws `InvalidRequest` if the
 * requested social provider is unknown.
 */
export function createRequestCheck(isSocialProvider: (name: string) => boolean) {
  return async (ctx: KoaContextWithOIDC, idp: string | undefined, client: RegisteredClient): Promise<void> => {
    setEffectiveScope(ctx, client);
    if (idp !== undefined && !isSocialProvider(idp)) {
      throw new errors.InvalidRequest('acr_values names an identity provider that is not known');
    }
  };
}

/**
 * oidc-provider has removed offline_access unless the request has `prompt=consent`. This function restores it for flows
 * in which the client can get a refresh token.
 */
function setEffectiveScope(ctx: KoaContextWithOIDC, client: RegisteredClient): void {
  const params = ctx.oidc.params as Record<string, string | undefined>;
  const sent = sentScope(ctx);
  const requested = typeof sent === 'string' ? sent : undefined;
  const hasRefreshTokens = params.response_type === 'code' || ctx.oidc.route === 'device_authorization';
  params.scope = effectiveScopes(client, requested, hasRefreshTokens).join(' ');
}

/** Returns the scope as the client sent it. oidc-provider stores a pushed request as an unsigned JWT. */
function sentScope({ oidc, query }: KoaContextWithOIDC): unknown {
  const { PushedAuthorizationRequest: pushed } = oidc.entities;
  if (pushed?.request !== undefined) return decodeJwt(pushed.request).scope;
  return (oidc.route === 'authorization' ? query : (oidc.body as AuthorizationQuery)).scope;
}
