// social_access_token: a native app hands over the access token that a social provider gave it (specification, "Native social token
// exchange"). Believed only when the provider itself says that it is live and was issued to one of our apps (contract section 4).
import { errors, type Provider } from 'oidc-provider';
import type { SocialIdentity } from '../../accounts/social-identity-store.ts';
import type { NativeTokenVerifier } from '../../social/native-token.ts';
import { unavailable } from '../unavailable.ts';
import { demandScopes, type IssueOptions, issueTokens } from './issue.ts';

export interface SocialGrantOptions extends IssueOptions {
  /** Rejects when no provider vouches for the token. */
  readonly verifyNativeToken: NativeTokenVerifier['verifyNativeToken'];
  readonly findOrCreateSocialAccount: (
    identity: SocialIdentity,
  ) => Promise<{ readonly id: string; readonly disabledAt: Date | null }>;
}

export function registerSocialGrant(provider: Provider, options: SocialGrantOptions): void {
  provider.registerGrantType<{ token?: string; provider?: string }>(
    'social_access_token',
    async (ctx) => {
      const granted = demandScopes(ctx, options.scopes);
      const { token, provider: name } = ctx.oidc.params;
      if (!token) throw new errors.InvalidRequest('token is required');
      const identity = await options
        .verifyNativeToken({ token, ...(name && { provider: name }) })
        .catch((cause: Error & { unavailable?: boolean }) => {
          // The token may be good; whoever could say so is away, and the client should try again.
          if (cause.unavailable) throw unavailable(cause);
          throw new errors.InvalidGrant({
            cause,
            detail: `no provider vouches for the token: ${cause.message}`,
          });
        });
      const account = await options.findOrCreateSocialAccount(identity);
      if (account.disabledAt) throw new errors.InvalidGrant({ detail: 'account disabled' });
      await issueTokens(ctx, options, { accountId: account.id, granted, gty: 'social_access_token' });
    },
    ['token', 'provider', 'scope'],
  );
}
