// Registers the grant type `password` (RFC 6749 section 4.3; specification, "Resource owner password flow").
import { errors, type Provider } from 'oidc-provider';
import type { SignInWithPassword } from '../../accounts/sign-in.ts';
import { checkRequestedScopes, effectiveScopes } from '../clients/registered-client.ts';
import type { ScopeTable } from '../scopes.ts';
import { unavailable } from '../unavailable.ts';
import { type IssueTokens, lockedOut, type RefuseMissingFactor } from './issue.ts';

export function registerPasswordGrant(
  provider: Provider,
  {
    scopes,
    signIn,
    issueTokens,
    refuseMissingFactor,
  }: {
    readonly scopes: ScopeTable;
    readonly signIn: SignInWithPassword;
    readonly issueTokens: IssueTokens;
    readonly refuseMissingFactor: RefuseMissingFactor;
  },
): void {
  provider.registerGrantType<{ username?: string; password?: string }>(
    'password',
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const granted = effectiveScopes(client, params.scope);
      checkRequestedScopes(scopes, client, { requested: granted, issuesIdToken: false });
      const { username, password } = params;
      if (!username || !password) throw new errors.InvalidRequest('username and password are required');
      const result = await signIn({ username, password, address: ctx.ip }).catch(
        (cause: Error & { status?: number }) => {
          // For example, too many passwords are waiting to be hashed.
          throw cause.status === 503 ? unavailable(cause) : cause;
        },
      );
      if ('account' in result) {
        const accountId = result.account.id;
        await refuseMissingFactor(accountId);
        await issueTokens(ctx, { accountId, granted, gty: 'password', amr: ['pwd'] });
        return;
      }
      if (result.refused === 'invalid') throw new errors.InvalidGrant({ detail: 'wrong username or password' });
      throw lockedOut(ctx, result.retryAfter);
    },
    ['username', 'password', 'scope'],
  );
}
