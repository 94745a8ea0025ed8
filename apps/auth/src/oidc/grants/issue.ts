// Issues the tokens of the grant types `password` and `social_access_token`. The client gets an access token. With the
// scope offline_access, it also gets a refresh token. oidc-provider has no public function that issues both, so this
// file repeats the steps of the library's handler for authorization codes.
import type { TokenEndpointGrantContext } from 'oidc-provider';
import { offlineAccess } from '../scopes.ts';
import { type ProofVerifier, verifyProofOfRequest } from '../tokens/dpop.ts';
import type { ResourceServer } from '../tokens/resource-server.ts';
import type { TokenLifetimes } from '../tokens/token-lifetimes.ts';

export interface IssueOptions {
  readonly resource: ResourceServer;
  readonly lifetimes: TokenLifetimes;
  readonly proofs: ProofVerifier;
}

export interface TokenRequest {
  readonly accountId: string;
  /** The scopes of the new grant. */
  readonly granted: readonly string[];
  /** The name of the grant type, which oidc-provider stores in the field `gty` of the tokens. */
  readonly gty: string;
}

/**
 * Stores a grant, issues its tokens, and sets the body of the response.
 * @throws the errors of `verifyProofOfRequest` (../dpop.ts), for example if the DPoP proof is not valid
 */
export async function issueTokens(
  ctx: TokenEndpointGrantContext,
  { resource, lifetimes, proofs }: IssueOptions,
  { accountId, granted, gty }: TokenRequest,
): Promise<void> {
  const { client, provider } = ctx.oidc;
  const issuesRefreshToken = granted.includes(offlineAccess);
  // `granted` contains only our own scopes and offline_access, because no id_token is issued here.
  const custom = granted.filter(resource.isCustom);
  const scope = granted.join(' ');
  // The proof is verified before the grant is stored. A client that gets `use_dpop_nonce` sends its request again, and
  // the first request must leave no grant behind.
  const jkt = await verifyProofOfRequest(ctx, proofs);

  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  if (issuesRefreshToken) grant.addOIDCScope(offlineAccess);
  // Without a refresh token, the grant is not needed after the access token has expired. The grant then gets the
  // lifetime of the token. A client may request a token every hour, and each of these grants would otherwise be stored
  // for a year.
  else Object.assign(grant, { expiresIn: lifetimes.accessToken(client) });
  grant.addResourceScope(resource.audience, custom);
  await grant.save();
  // Makes the grant available as `ctx.oidc.entities.Grant`. access-token-claims.ts needs it when the token is saved.
  ctx.oidc.entity('Grant', grant);

  const accessToken = new provider.AccessToken({ accountId, client, grantId: grant.jti, gty, scope: custom.join(' ') });
  // The resource server determines the audience of the token, its scope, and its format (JWT).
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
      // RFC 9449 section 5: the refresh token of a public client is bound to the same key as the access token.
      ...(client.clientAuthMethod === 'none' && jkt !== undefined && { jkt }),
    });
    ctx.oidc.entity('RefreshToken', refreshToken);
    body.refresh_token = await refreshToken.save();
  }
  ctx.body = body;
}
