// Registers the grant type `social_access_token` (specification, "Native social token exchange"). The provider of the
// token must confirm that it was issued to one of our apps.
import { errors, type Provider } from 'oidc-provider';
import type { Services } from '../../services.ts';
import { verifyNativeToken } from '../../social/native-token.ts';
import { checkRequestedScopes, effectiveScopes } from '../clients/registered-client.ts';
import { unavailable } from '../unavailable.ts';
import { issueTokens } from './issue.ts';
import { lockedOut, refuseMissingFactor } from './refusals.ts';

export function registerSocialGrant(provider: Provider, services: Services): void {
  provider.registerGrantType<{ token?: string; provider?: string }>(
    'social_access_token',
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const granted = effectiveScopes(client, params.scope);
      checkRequestedScopes(services.scopes, client, { requested: granted, issuesIdToken: false });
      const { token, provider: name } = params;
      if (!token) throw new errors.InvalidRequest('token is required');
      const attempt = await services.beginSocialAttempt(ctx.ip);
      if ('retryAfter' in attempt) throw lockedOut(ctx, attempt.retryAfter);
      const identity = await verifyNativeToken(services, token, name || undefined).catch(
        async (cause: Error & { unavailable?: boolean }) => {
          // The provider did not respond.
          if (cause.unavailable) throw unavailable(cause);
          await attempt.failed();
          throw new errors.InvalidGrant({ cause, detail: `no provider confirms the token: ${cause.message}` });
        },
      );
      const account = await services.findOrCreateSocialAccount(identity);
      if (account.disabledAt) throw new errors.InvalidGrant({ detail: 'account disabled' });
      await refuseMissingFactor(services, account.id);
      const proven = { acr: `idp:${identity.provider}`, amr: ['fed'] };
      await issueTokens(ctx, services, { accountId: account.id, granted, gty: 'social_access_token', ...proven });
    },
    ['token', 'provider', 'scope'],
  );
}
