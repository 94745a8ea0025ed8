// Registers the grant types `password` and `social_access_token`. Their tokens are issued with the steps that
// oidc-provider takes for authorization codes. The library has no public function for them.
import { errors, type KoaContextWithOIDC, type Provider, type TokenEndpointGrantContext } from 'oidc-provider';
import { verifyNativeToken } from '../../social/native-token.ts';
import { limitSubject } from '../clients/policy.ts';
import { checkRequestedScopes, effectiveScopes } from '../clients/registered-client.ts';
import type { ProviderOptions } from '../provider-options.ts';
import { requestState } from '../request-state.ts';
import { offlineAccess, type ScopeTable } from '../scopes.ts';
import { orUnavailable, unavailable } from '../unavailable.ts';
import { verifyProofOfRequest } from './dpop.ts';

interface TokenRequest {
  readonly accountId: string;
  readonly granted: readonly string[];
  /** oidc-provider stores the name of the grant type in `gty`. */
  readonly gty: string;
  readonly acr?: string;
  readonly amr: string[];
}

export function registerOwnGrantTypes(provider: Provider, options: ProviderOptions): void {
  const issueTokens = createIssueTokens(options);
  registerPasswordGrant(provider, options, issueTokens);
  registerSocialGrant(provider, options, issueTokens);
}

type IssueTokens = ReturnType<typeof createIssueTokens>;

/**
 * Returns the function that issues the tokens of a request. The function throws an InvalidGrant if the account has a
 * second factor, because a token request cannot contain one.
 */
function createIssueTokens({ resource, lifetimes, proofs, audit, services, tokenRateLimit }: ProviderOptions) {
  return async (ctx: TokenEndpointGrantContext, { accountId, granted, gty, acr, amr }: TokenRequest): Promise<void> => {
    limitSubject(ctx, tokenRateLimit, accountId);
    if (await orUnavailable(() => services.factors.hasSecondFactor(accountId))) {
      audit.record({ kind: 'sign-in.refused', accountId, detail: { reason: 'second factor required' } });
      throw Object.assign(new errors.InvalidGrant({ detail: 'second factor required' }), {
        error_description: 'a second factor is required',
      });
    }
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

/** RFC 6749 has no error code for a lockout. */
function lockedOut(ctx: KoaContextWithOIDC, retryAfter: number): Error {
  ctx.set('Retry-After', String(retryAfter));
  return Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
    status: 429,
    statusCode: 429,
    error_description: 'too many failed sign-ins, try again later',
  });
}

/** Returns the scopes that the request gets. */
function grantedScopesOf({ oidc: { client, params } }: TokenEndpointGrantContext, scopes: ScopeTable) {
  const granted = effectiveScopes(client, params.scope as string | undefined);
  checkRequestedScopes(scopes, client, { requested: granted, issuesIdToken: false });
  return granted;
}

/** RFC 6749 section 4.3; specification, "Resource owner password flow". */
function registerPasswordGrant(
  provider: Provider,
  { scopes, services }: ProviderOptions,
  issueTokens: IssueTokens,
): void {
  provider.registerGrantType<{ username?: string; password?: string }>(
    'password',
    async (ctx) => {
      const granted = grantedScopesOf(ctx, scopes);
      const { username, password } = ctx.oidc.params;
      if (!username || !password) throw new errors.InvalidRequest('username and password are required');
      const result = await services
        .signIn({ username, password, address: ctx.ip })
        .catch((cause: Error & { status?: number }) => {
          // For example, too many passwords are waiting to be hashed.
          throw cause.status === 503 ? unavailable(cause) : cause;
        });
      if ('account' in result) {
        await issueTokens(ctx, { accountId: result.account.id, granted, gty: 'password', amr: ['pwd'] });
        return;
      }
      if (result.refused === 'invalid') throw new errors.InvalidGrant({ detail: 'wrong username or password' });
      throw lockedOut(ctx, result.retryAfter);
    },
    ['username', 'password', 'scope'],
  );
}

/**
 * Specification, "Native social token exchange". The provider of the token must confirm that it was issued to one of
 * our apps.
 */
function registerSocialGrant(provider: Provider, options: ProviderOptions, issueTokens: IssueTokens): void {
  const { scopes, socialProviders, logger, services } = options;
  provider.registerGrantType<{ token?: string; provider?: string }>(
    'social_access_token',
    async (ctx) => {
      const granted = grantedScopesOf(ctx, scopes);
      const { token, provider: name } = ctx.oidc.params;
      if (!token) throw new errors.InvalidRequest('token is required');
      const attempt = await services.attempts.beginSocial(ctx.ip);
      if ('retryAfter' in attempt) throw lockedOut(ctx, attempt.retryAfter);
      const identity = await verifyNativeToken({ socialProviders, logger }, token, name || undefined).catch(
        async (cause: Error & { unavailable?: boolean }) => {
          // The provider did not respond.
          if (cause.unavailable) throw unavailable(cause);
          await attempt.failed();
          throw new errors.InvalidGrant({ cause, detail: `no provider confirms the token: ${cause.message}` });
        },
      );
      const account = await services.socialIdentities.findOrCreateAccount(identity);
      if (account.disabledAt) throw new errors.InvalidGrant({ detail: 'account disabled' });
      const proven = { acr: `idp:${identity.provider}`, amr: ['fed'] };
      await issueTokens(ctx, { accountId: account.id, granted, gty: 'social_access_token', ...proven });
    },
    ['token', 'provider', 'scope'],
  );
}
