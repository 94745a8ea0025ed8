// Checks a user name and password for the sign-in page and the grant type `password`.
//
// Neither the result nor the response time reveals whether the account exists (docs/behaviour-auth.md, "Sign-in
// protection").

import type { SignInGuard } from '../guard/sign-in-guard.ts';
import type { Stores } from '../services.ts';
import { verifyPassword } from './passwords.ts';
import type { Account } from './store.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly address: string;
  /** Returns the id of the browser, if the account has signed in with this browser before. */
  readonly deviceOf?: (account: Account) => string | undefined;
}

export type SignInResult =
  | { readonly account: Account }
  | { readonly refused: 'invalid' }
  /** `retryAfter` is in seconds. */
  | { readonly refused: 'locked'; readonly retryAfter: number };

export type SignIn = (credentials: Credentials) => Promise<SignInResult>;

export const createSignIn =
  ({ accounts, audit, factors }: Stores, guard: SignInGuard): SignIn =>
  async ({ username, password, address, deviceOf }) => {
    // Failures are counted under `name`, which is equal for all spellings of a user name.
    const { name, account } = await accounts.lookUpForSignIn(username);
    const attempt = await guard.beginAttempt({ name, address, device: account && deviceOf?.(account) });
    if ('retryAfter' in attempt) {
      audit.record({ kind: 'sign-in.refused', address, detail: { reason: 'locked' } });
      return { refused: 'locked', retryAfter: attempt.retryAfter };
    }
    const passwordMatches = await verifyPassword(account?.passwordHash, password);
    const succeeded = passwordMatches && account !== undefined && !account.disabledAt;
    // If the account has a second factor, a right password does not complete the sign-in and does not reset the count.
    const isComplete = succeeded && !(await factors.hasSecondFactor(account.id));
    const lockout = succeeded ? await attempt.succeeded({ isComplete }) : await attempt.failed();
    if (lockout) {
      audit.record({ kind: 'sign-in.locked', accountId: account?.id, address });
      return { refused: 'locked', retryAfter: lockout.retryAfter };
    }
    if (succeeded) return { account };
    let reason = 'unknown account';
    if (account) reason = passwordMatches ? 'account disabled' : 'wrong password';
    audit.record({ kind: 'sign-in.refused', accountId: account?.id, address, detail: { reason } });
    return { refused: 'invalid' };
  };
