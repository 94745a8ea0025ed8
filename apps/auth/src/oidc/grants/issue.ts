// Issues the tokens of the grant types `password` and `social_access_token`, with the steps that oidc-provider takes
// for authorization codes. The library has no public function for them.
import type { TokenEndpointGrantContext } from 'oidc-provider';
import { requestState } from '../request-state.ts';
import { offlineAccess } from '../scopes.ts';
import { type ProofVerifier, verifyProofOfRequest } from '../tokens/dpop.ts';
import type { ResourceServer } from '../tokens/resource-server.ts';
import type { TokenLifetimes } from '../tokens/token-lifetimes.ts';

export interface TokenRequest {
  readonly accountId: string;
  readonly granted: readonly string[];
  /** oidc-provider stores the name of the grant type in `gty`. */
  readonly gty: string;
  readonly acr?: string;
  readonly amr: string[];
}

export interface IssueParts {
  readonly resource: ResourceServer;
  readonly lifetimes: TokenLifetimes;
  readonly proofs: ProofVerifier;
}

export async function issueTokens(
  ctx: TokenEndpointGrantContext,
  { resource, lifetimes, proofs }: IssueParts,
  { accountId, granted, gty, acr, amr }: TokenRequest,
): Promise<void> {
  const { client, provider } = ctx.oidc;
  const issuesRefreshToken = granted.includes(offlineAccess);
  const custom = granted.filter(resource.isCustom);
  const scope = granted.join(' ');
  // A client that gets `use_dpop_nonce` tries again, and the first request must leave no grant.
  const jkt = await verifyProofOfRequest(ctx, proofs);

  const proven = { authTime: Math.floor(Date.now() / 1000), acr, amr };
  requestState(ctx).proven = proven;
  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  if (issuesRefreshToken) grant.addOIDCScope(offlineAccess);
  // A client may request a token every hour, and each grant would be stored for a year.
  else Object.assign(grant, { expiresIn: lifetimes.accessToken(client) });
  grant.addResourceScope(resource.audience, custom);
  await grant.save();
  ctx.oidc.entity('Grant', grant);

  const accessToken = new provider.AccessToken({ accountId, client, grantId: grant.jti, gty, scope: custom.join(' ') });
  accessToken.resourceServer = new provider.ResourceServer(resource.audience, resource.info(custom));
  if (jkt !== undefined) accessToken.setThumbprint('jkt', jkt);
  ctx.oidc.entity('AccessToken', accessToken);
  const body: Record<string, unknown> = {
    access_token: await accessToken.save(),
    expires_in: accessToken.expiration,
    token_type: accessToken.tokenType,
    scope,
  };

  if (issuesRefreshToken) {
    const refreshToken = new provider.RefreshToken({
      accountId,
      client,
      grantId: grant.jti,
      gty,
      resource: resource.audience,
      rotations: 0,
      scope,
      ...proven,
      // RFC 9449 section 5
      ...(client.clientAuthMethod === 'none' && jkt !== undefined && { jkt }),
    });
    ctx.oidc.entity('RefreshToken', refreshToken);
    body.refresh_token = await refreshToken.save();
  }
  ctx.body = body;
}
