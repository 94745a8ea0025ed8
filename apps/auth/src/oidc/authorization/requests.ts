// Rewrites authorization requests before oidc-provider reads them. A repeated parameter is an array, which stays
// unchanged, because the library rejects it.
import { decodeJwt } from 'jose';
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import type { LimitPushedRequests } from '../../guard/pushed-request-limit.ts';
import type { Services } from '../../services.ts';
import { effectiveScopes, type RegisteredClient } from '../clients/registered-client.ts';
import type { AuthorizationQuery, Next } from '../request-state.ts';
import { normaliseScope, splitScope } from '../scopes.ts';
import { orUnavailable } from '../unavailable.ts';
import { replaceTokenResponseType } from './implicit-flow.ts';

/** An internal parameter, with the social provider of `acr_values=idp:NAME`. */
export const idpParameter = 'idp';
const idpPrefix = 'idp:';

/** oidc-provider would reject `acr_values` without openid, and compare it with the session. A sent `idp` is removed. */
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

/** Many clients always send a nonce. oidc-provider rejects it if there is no id_token. */
function removeUnusedNonce(query: AuthorizationQuery): AuthorizationQuery {
  const { nonce, ...others } = query;
  const { scope, response_type: responseType } = query;
  const issuesIdToken = splitScope(String(scope ?? '')).includes('openid') || String(responseType).includes('id_token');
  return issuesIdToken || Array.isArray(nonce) ? query : others;
}

function removeRepeatedSpaces(query: AuthorizationQuery): AuthorizationQuery {
  return typeof query.scope === 'string' ? { ...query, scope: normaliseScope(query.scope) } : query;
}

export function rewriteAuthorizationQuery(query: AuthorizationQuery): AuthorizationQuery {
  const supported = replaceTokenResponseType(query);
  return removeRepeatedSpaces(removeUnusedNonce(moveIdp(supported)));
}

export function rewriteAuthorizationRequests(provider: Provider, authorizationPath: string): void {
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    if (ctx.method === 'GET' && ctx.path === authorizationPath) {
      ctx.query = rewriteAuthorizationQuery(ctx.query as AuthorizationQuery) as typeof ctx.query;
    }
    return next();
  });
}

/** The setting `extraParams.idp`. oidc-provider calls it for every request after its own checks. */
export function createRequestCheck({ providers, limitPushedRequests }: Services) {
  return async (ctx: KoaContextWithOIDC, idp: string | undefined, client: RegisteredClient): Promise<void> => {
    setEffectiveScope(ctx, client);
    if (idp !== undefined && !providers.has(idp)) {
      throw new errors.InvalidRequest('acr_values names an identity provider that is not known');
    }
    if (ctx.oidc.route === 'pushed_authorization_request') await limitPush(ctx, client, limitPushedRequests);
  };
}

async function limitPush(ctx: KoaContextWithOIDC, client: RegisteredClient, limit: LimitPushedRequests): Promise<void> {
  const isPublic = client.clientAuthMethod === 'none';
  const waitSeconds = await orUnavailable(() => limit(client.clientId, isPublic ? ctx.ip : undefined));
  if (waitSeconds === 0) return;
  ctx.set('Retry-After', String(waitSeconds));
  throw new errors.InvalidRequest('too many pushed authorization requests, try again later', 429);
}

/** oidc-provider removes offline_access unless the request has `prompt=consent`. */
function setEffectiveScope(ctx: KoaContextWithOIDC, client: RegisteredClient): void {
  const params = ctx.oidc.params as Record<string, string | undefined>;
  const sent = sentScope(ctx);
  const requested = typeof sent === 'string' ? sent : undefined;
  const hasRefreshTokens = params.response_type === 'code' || ctx.oidc.route === 'device_authorization';
  params.scope = effectiveScopes(client, requested, hasRefreshTokens).join(' ');
}

/** oidc-provider stores a pushed request as an unsigned JWT. */
function sentScope({ oidc, query }: KoaContextWithOIDC): unknown {
  const { PushedAuthorizationRequest: pushed } = oidc.entities;
  if (pushed?.request !== undefined) return decodeJwt(pushed.request).scope;
  return (oidc.route === 'authorization' ? query : (oidc.body as AuthorizationQuery)).scope;
}
