// Registers the grant `password` (RFC 6749 section 4.3; specification, "Resource owner password flow"). It uses the
// function of the sign-in page, so the protection against guessed passwords covers the grant too.
import { errors, type Provider } from 'oidc-provider';
import type { SignIn } from '../../accounts/sign-in.ts';
import { unavailable } from '../unavailable.ts';
import { type IssueOptions, issueTokens } from './issue.ts';
import { checkScopes } from './scopes.ts';

export interface PasswordGrantOptions extends IssueOptions {
  readonly signIn: SignIn['signIn'];
}

export function registerPasswordGrant(provider: Provider, options: PasswordGrantOptions): void {
  provider.registerGrantType<{ username?: string; password?: string }>(
    'password',
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const granted = checkScopes(options.scopes, client, params.scope, { issuesRefreshTokens: true });
      const { username, password } = params;
      if (!username || !password) throw new errors.InvalidRequest('username and password are required');
      const result = await options
        .signIn({ username, password, address: ctx.ip })
        .catch((cause: Error & { status?: number }) => {
          throw cause.status === 503 ? unavailable(cause) : cause;
        });
      if ('account' in result) {
        await issueTokens(ctx, options, { accountId: result.account.id, granted, gty: 'password' });
        return;
      }
      if (result.refused === 'invalid') throw new errors.InvalidGrant({ detail: 'wrong username or password' });
      ctx.set('Retry-After', String(result.retryAfter));
      throw lockedOut();
    },
    ['username', 'password', 'scope'],
  );
}

/**
 * RFC 6749 defines no error for a locked-out user, so the response uses `invalid_grant`, as for a wrong password. The
 * status 429 tells the client to wait.
 */
const lockedOut = (): Error =>
  Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
    status: 429,
    statusCode: 429,
    error_description: 'too many failed sign-ins, try again later',
  });
