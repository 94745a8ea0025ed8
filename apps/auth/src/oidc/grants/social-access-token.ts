// Registers the grant type `social_access_token` (specification, "Native social token exchange"). The provider of the
// token must confirm that it was issued to one of our apps.
import { errors, type Provider } from 'oidc-provider';
import type { SocialIdentity } from '../../accounts/social-identity-store.ts';
import type { Lockout, SignInAttempt } from '../../guard/sign-in-guard.ts';
import { checkRequestedScopes, effectiveScopes } from '../clients/registered-client.ts';
import type { ScopeTable } from '../scopes.ts';
import { unavailable } from '../unavailable.ts';
import { type IssueOptions, issueTokens } from './issue.ts';
import { lockedOut } from './locked-out.ts';

export interface SocialGrantOptions extends IssueOptions {
  readonly scopes: ScopeTable;
  /** Without `provider`, each provider is asked to confirm the token, one after the other. */
  readonly verifyNativeToken: (request: { token: string; provider?: string }) => Promise<SocialIdentity>;
  /** A success need not be reported, because this attempt has no user name whose failures it could reset. */
  readonly beginSocialAttempt: (address: string) => Promise<SignInAttempt | Lockout>;
  readonly findOrCreateSocialAccount: (
    identity: SocialIdentity,
  ) => Promise<{ readonly id: string; readonly disabledAt: Date | null }>;
}

export function registerSocialGrant(provider: Provider, options: SocialGrantOptions): void {
  provider.registerGrantType<{ token?: string; provider?: string }>(
    'social_access_token',
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const granted = effectiveScopes(client, params.scope);
      checkRequestedScopes(options.scopes, client, { requested: granted, issuesIdToken: false });
      const { token, provider: name } = params;
      if (!token) throw new errors.InvalidRequest('token is required');
      const attempt = await options.beginSocialAttempt(ctx.ip);
      if ('retryAfter' in attempt) throw lockedOut(ctx, attempt.retryAfter);
      const identity = await options
        .verifyNativeToken({ token, ...(name && { provider: name }) })
        .catch(async (cause: Error & { unavailable?: boolean }) => {
          // The provider did not respond.
          if (cause.unavailable) throw unavailable(cause);
          await attempt.failed();
          throw new errors.InvalidGrant({ cause, detail: `no provider confirms the token: ${cause.message}` });
        });
      const account = await options.findOrCreateSocialAccount(identity);
      if (account.disabledAt) throw new errors.InvalidGrant({ detail: 'account disabled' });
      await issueTokens(ctx, options, { accountId: account.id, granted, gty: 'social_access_token' });
    },
    ['token', 'provider', 'scope'],
  );
}
