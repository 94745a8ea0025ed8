// What does an account get when a grant of ours has proven who it is? An access token and, with offline_access, a refresh token, on a
// grant of their own. These are the library's own steps for a code; it offers custom grants no helper for them.
import type { Provider, TokenEndpointGrantContext } from 'oidc-provider';
import { errors } from 'oidc-provider';
import { allowedScopes, effectiveScopes } from '../registered-client.ts';
import type { ResourceServer } from '../resource-server.ts';
import { findScopeError, offlineAccess, type ScopeTable } from '../scopes.ts';

export interface IssueOptions {
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly accessTokenTtl: number;
}

/** The scopes that this request may have. @throws {errors.InvalidScope} */
export function demandScopes(ctx: TokenEndpointGrantContext, scopes: ScopeTable): readonly string[] {
  const { client, params } = ctx.oidc;
  const requested = effectiveScopes(client, params.scope);
  const fault = findScopeError(scopes, { requested, allowed: allowedScopes(client), issuesIdToken: false });
  if (fault) throw new errors.InvalidScope(fault.description, fault.scope);
  return requested;
}

export async function issueTokens(
  ctx: TokenEndpointGrantContext,
  { resource, accessTokenTtl }: IssueOptions,
  { accountId, granted, gty }: { accountId: string; granted: readonly string[]; gty: string },
): Promise<void> {
  const { client, provider } = ctx.oidc as { client: typeof ctx.oidc.client; provider: Provider };
  const refreshes = granted.includes(offlineAccess);
  const custom = granted.filter(resource.isCustom);

  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  if (refreshes) grant.addOIDCScope(offlineAccess);
  // Without a refresh token nothing outlives the access token, and a password client may come back every hour.
  else Object.assign(grant, { expiresIn: accessTokenTtl });
  grant.addResourceScope(resource.audience, custom);
  await grant.save();
  ctx.oidc.entity('Grant', grant);

  const scope = granted.join(' ');
  const accessToken = new provider.AccessToken({ accountId, client, grantId: grant.jti, gty, scope: custom.join(' ') });
  accessToken.resourceServer = new provider.ResourceServer(resource.audience, resource.info(custom));
  ctx.oidc.entity('AccessToken', accessToken);

  const body: Record<string, unknown> = {
    access_token: await accessToken.save(),
    expires_in: accessToken.expiration,
    token_type: accessToken.tokenType,
    scope,
  };
  if (refreshes) {
    const refreshToken = new provider.RefreshToken({
      accountId,
      client,
      grantId: grant.jti,
      gty,
      resource: resource.audience,
      rotations: 0,
      scope,
    });
    ctx.oidc.entity('RefreshToken', refreshToken);
    body.refresh_token = await refreshToken.save();
  }
  ctx.body = body;
}
