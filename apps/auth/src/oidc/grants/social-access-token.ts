// Registers the grant type `social_access_token` (specification, "Native social token exchange"). The provider of the
// token must confirm that it was issued to one of our apps.
import type { Logger } from '@bay-booking/service/logging';
import { errors, type Provider } from 'oidc-provider';
import type { SignInAttempts } from '../../accounts/sign-in.ts';
import type { SocialIdentityStore } from '../../accounts/social-identity-store.ts';
import { verifyNativeToken } from '../../social/native-token.ts';
import type { SocialProviders } from '../../social/settings.ts';
import { checkRequestedScopes, effectiveScopes } from '../clients/registered-client.ts';
import type { ScopeTable } from '../scopes.ts';
import { unavailable } from '../unavailable.ts';
import { type IssueTokens, lockedOut, type RefuseMissingFactor } from './issue.ts';

export function registerSocialGrant(
  provider: Provider,
  options: {
    readonly scopes: ScopeTable;
    readonly attempts: SignInAttempts;
    readonly socialIdentities: SocialIdentityStore;
    readonly socialProviders: SocialProviders;
    readonly logger: Logger;
    readonly issueTokens: IssueTokens;
    readonly refuseMissingFactor: RefuseMissingFactor;
  },
): void {
  const { scopes, attempts, socialIdentities, socialProviders, logger, issueTokens, refuseMissingFactor } = options;

  provider.registerGrantType<{ token?: string; provider?: string }>(
    'social_access_token',
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const granted = effectiveScopes(client, params.scope);
      checkRequestedScopes(scopes, client, { requested: granted, issuesIdToken: false });
      const { token, provider: name } = params;
      if (!token) throw new errors.InvalidRequest('token is required');
      const attempt = await attempts.beginSocial(ctx.ip);
      if ('retryAfter' in attempt) throw lockedOut(ctx, attempt.retryAfter);
      const identity = await verifyNativeToken({ socialProviders, logger }, token, name || undefined).catch(
        async (cause: Error & { unavailable?: boolean }) => {
          // The provider did not respond.
          if (cause.unavailable) throw unavailable(cause);
          await attempt.failed();
          throw new errors.InvalidGrant({ cause, detail: `no provider confirms the token: ${cause.message}` });
        },
      );
      const account = await socialIdentities.findOrCreateAccount(identity);
      if (account.disabledAt) throw new errors.InvalidGrant({ detail: 'account disabled' });
      await refuseMissingFactor(account.id);
      const proven = { acr: `idp:${identity.provider}`, amr: ['fed'] };
      await issueTokens(ctx, { accountId: account.id, granted, gty: 'social_access_token', ...proven });
    },
    ['token', 'provider', 'scope'],
  );
}
