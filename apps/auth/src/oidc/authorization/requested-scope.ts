// Applies our scope rules (scopes.ts) to the requests of clients, before oidc-provider applies its own rules.
import { decodeJwt } from 'jose';
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { allowedScopes, effectiveScopes, type RegisteredClient } from '../clients/registered-client.ts';
import type { AuthorizationQuery } from '../middleware-types.ts';
import { findScopeError, type ScopeTable } from './scopes.ts';

/** @throws {errors.InvalidScope} if the client may not request one of the scopes, or may not request them together */
export function checkRequestedScopes(
  scopes: ScopeTable,
  client: RegisteredClient,
  { requested, issuesIdToken }: { requested: readonly string[]; issuesIdToken: boolean },
): void {
  const error = findScopeError(scopes, { requested, allowed: allowedScopes(client), issuesIdToken });
  if (error) throw new errors.InvalidScope(error.description, error.scope);
}

/**
 * Extends the method `responseTypeAllowed` of oidc-provider's clients, so that it also checks the scopes of an
 * authorization request. The library calls this method before its own check of the scopes. Without our check, the
 * library would respond to some wrong scopes with `invalid_request` instead of `invalid_scope`.
 */
export function checkScopesOfAuthorizationRequests(provider: Provider, scopes: ScopeTable): void {
  const client = provider.Client.prototype as RegisteredClient;
  const { responseTypeAllowed } = client;
  client.responseTypeAllowed = function responseTypeAndScopesAllowed(this: RegisteredClient, type): boolean {
    const allowed = responseTypeAllowed.call(this, type);
    // The context of the current request. It is undefined if no request of oidc-provider is running.
    const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
    if (ctx === undefined || !isAuthorizationRequest(ctx)) return allowed;
    // RFC 6749 sections 4.1.2.1 and 4.2.2.1 require this error. oidc-provider would return invalid_request.
    if (!allowed) throw new errors.UnauthorizedClient('this client may not use this response type');
    // Only the code flow can give a refresh token.
    const isCodeFlow = type === 'code';
    checkRequestedScopes(scopes, this, {
      requested: effectiveScopes(this, ctx.oidc.params?.scope as string | undefined, isCodeFlow),
      issuesIdToken: isCodeFlow || type.includes('id_token'),
    });
    return true;
  };
}

const isAuthorizationRequest = (ctx: KoaContextWithOIDC): boolean =>
  ['authorization', 'pushed_authorization_request'].includes(ctx.oidc?.route);

/**
 * Returns the parameters as the client sent them. An authorization request has them in its query. A pushed request and
 * a device authorization request have them in their body.
 */
export const sentParameters = (ctx: KoaContextWithOIDC): AuthorizationQuery =>
  ctx.oidc.route === 'authorization' ? ctx.query : (ctx.oidc.body as AuthorizationQuery);

/** Returns the scope as the client sent it. oidc-provider stores a pushed request as an unsigned JWT. */
function requestedScope(ctx: KoaContextWithOIDC): unknown {
  const { PushedAuthorizationRequest: pushed } = ctx.oidc.entities;
  return pushed?.request === undefined ? sentParameters(ctx).scope : decodeJwt(pushed.request).scope;
}

/**
 * Sets the parameter `scope` of an authorization request to the effective scopes: the requested scopes, without
 * offline_access if the client cannot get a refresh token.
 *
 * oidc-provider has removed offline_access unless the request has `prompt=consent`. This function restores it for flows
 * in which the client can get a refresh token: with an authorization code or a device code.
 */
export function setEffectiveScope(ctx: KoaContextWithOIDC, client: RegisteredClient): void {
  const params = ctx.oidc.params as Record<string, string | undefined>;
  const scope = requestedScope(ctx);
  const requested = typeof scope === 'string' ? scope : undefined;
  const hasRefreshTokens = params.response_type === 'code' || ctx.oidc.route === 'device_authorization';
  params.scope = effectiveScopes(client, requested, hasRefreshTokens).join(' ');
}
