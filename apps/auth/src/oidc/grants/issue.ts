// Issues the tokens of the grant types `password` and `social_access_token`, with the steps that oidc-provider takes
// for authorization codes, or rejects the request. The library has no public function for them.
import { errors, type KoaContextWithOIDC, type TokenEndpointGrantContext } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import type { FactorStore } from '../../factors/store.ts';
import { requestState } from '../request-state.ts';
import { offlineAccess } from '../scopes.ts';
import { type ProofVerifier, verifyProofOfRequest } from '../tokens/dpop.ts';
import type { ResourceServer } from '../tokens/resource-server.ts';
import type { TokenLifetimes } from '../tokens/token-lifetimes.ts';
import { orUnavailable } from '../unavailable.ts';

export interface TokenRequest {
  readonly accountId: string;
  readonly granted: readonly string[];
  /** oidc-provider stores the name of the grant type in `gty`. */
  readonly gty: string;
  readonly acr?: string;
  readonly amr: string[];
}

export type IssueTokens = ReturnType<typeof createIssueTokens>;

export function createIssueTokens({
  resource,
  lifetimes,
  proofs,
}: {
  readonly resource: ResourceServer;
  readonly lifetimes: TokenLifetimes;
  readonly proofs: ProofVerifier;
}) {
  return async (ctx: TokenEndpointGrantContext, { accountId, granted, gty, acr, amr }: TokenRequest): Promise<void> => {
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

    const accessToken = new provider.AccessToken({
      accountId,
      client,
      grantId: grant.jti,
      gty,
      scope: custom.join(' '),
    });
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
  };
}

export type RefuseMissingFactor = ReturnType<typeof createMissingFactorCheck>;

/** The check throws an InvalidGrant if the account has a second factor, which a token request cannot contain. */
export function createMissingFactorCheck({ factors, audit }: { readonly factors: FactorStore; readonly audit: Audit }) {
  return async (accountId: string): Promise<void> => {
    if (!(await orUnavailable(() => factors.hasSecondFactor(accountId)))) return;
    audit.record({ kind: 'sign-in.refused', accountId, detail: { reason: 'second factor required' } });
    throw Object.assign(new errors.InvalidGrant({ detail: 'second factor required' }), {
      error_description: 'a second factor is required',
    });
  };
}

/** RFC 6749 has no error code for a lockout. */
export function lockedOut(ctx: KoaContextWithOIDC, retryAfter: number): Error {
  ctx.set('Retry-After', String(retryAfter));
  return Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
    status: 429,
    statusCode: 429,
    error_description: 'too many failed sign-ins, try again later',
  });
}
