// password: the specification's resource owner password flow (RFC 6749 section 4.3). Sign-in, with its lock-out, is the pages' own, so
// that guessing here is no easier than there.
import { errors, type Provider } from 'oidc-provider';
import type { SignIn } from '../../accounts/sign-in.ts';
import { unavailable } from '../unavailable.ts';
import { demandScopes, type IssueOptions, issueTokens } from './issue.ts';

export interface PasswordGrantOptions extends IssueOptions {
  readonly signIn: SignIn['signIn'];
}

export function registerPasswordGrant(provider: Provider, options: PasswordGrantOptions): void {
  provider.registerGrantType<{ username?: string; password?: string }>(
    'password',
    async (ctx) => {
      const granted = demandScopes(ctx, options.scopes);
      const { username, password } = ctx.oidc.params;
      if (!username || !password) throw new errors.InvalidRequest('username and password are required');
      const outcome = await options
        .signIn({ username, password, address: ctx.ip })
        .catch((cause: Error & { status?: number }) => {
          throw cause.status === 503 ? unavailable(cause) : cause;
        });
      if ('refused' in outcome) {
        if (outcome.refused === 'invalid') throw new errors.InvalidGrant({ detail: 'wrong username or password' });
        // To RFC 6749 still a refused credential; 429 is what clients back off on.
        ctx.set('Retry-After', String(outcome.retryAfter));
        throw Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
          status: 429,
          statusCode: 429,
          error_description: 'too many failed sign-ins, try again later',
        });
      }
      await issueTokens(ctx, options, { accountId: outcome.account.id, granted, gty: 'password' });
    },
    ['username', 'password', 'scope'],
  );
}
