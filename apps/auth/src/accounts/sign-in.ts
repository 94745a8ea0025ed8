// Checks a user name and password for the sign-in page and the grant type `password`.
//
// Neither the result nor the response time reveals whether the account exists (docs/behaviour-auth.md, "Sign-in
// protection").

import type { Audit } from '../audit/audit.ts';
import type { FailureCounterFactory } from '../guard/failure-counter.ts';
import type { SignInGuard } from '../guard/sign-in-guard.ts';
import type { AccountEmails } from './account-emails.ts';
import { verifyPassword } from './passwords.ts';
import type { Account, AccountStore } from './store.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly address: string;
  /** Returns the id of the browser, if the account has signed in with this browser before. */
  readonly deviceOf?: (account: Account) => string | undefined;
}

type PasswordResult =
  | { readonly account: Account }
  | { readonly refused: 'invalid' }
  /** `retryAfter` is in seconds. */
  | { readonly refused: 'locked'; readonly retryAfter: number };

export type SignInWithPassword = (credentials: Credentials) => Promise<PasswordResult>;

interface SecondFactors {
  readonly hasSecondFactor: (accountId: string) => Promise<boolean>;
}

export const createSignInWithPassword =
  (accounts: AccountStore, audit: Audit, factors: SecondFactors, guard: SignInGuard): SignInWithPassword =>
  async ({ username, password, address, deviceOf }) => {
    const account = await accounts.findByUsername(username);
    const attempt = await guard.beginAttempt({ name: username, address, device: account && deviceOf?.(account) });
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

/** Counts the failures of the ways to sign in that use no password. */
export const createSignInAttempts = (
  factors: SecondFactors,
  guard: SignInGuard,
  wrongFactors: ReturnType<FailureCounterFactory>,
  emails: Pick<AccountEmails, 'sendWrongFactors'>,
) => ({
  /** Begins a sign-in with a social provider or a passkey, whose failures count only for the IP address. */
  beginSocial: (address: string) => guard.beginAttempt({ address }),
  /** Begins to check a second factor. Its failures count like wrong passwords of the account. */
  beginSecondFactor: async ({ username }: Account, address: string, device: string | undefined) =>
    guard.beginAttempt({ name: username, address, device }),
  /** Who enters wrong codes knows the password. The owner gets a mail after five in a day, once a day. */
  warnAboutWrongFactors: async (account: Account): Promise<void> => {
    const { failures, limit } = await wrongFactors.add(account.id);
    if (failures === limit) await emails.sendWrongFactors(account);
  },
  /**
   * Deletes the count of failed sign-ins. If the account has a second factor, a password reset is not a complete
   * sign-in.
   */
  resetFailures: async ({ id, username }: Account, { isComplete = false } = {}): Promise<void> => {
    if (!isComplete && (await factors.hasSecondFactor(id))) return;
    await guard.resetFailures(username);
  },
});
