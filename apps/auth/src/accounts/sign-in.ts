// Is this username and password right? One answer for the pages and the `password` grant, behind one guard: it tells nothing about
// whether the account exists, neither in words nor in time (contract section 6).
import type { Audit } from '../audit/audit.ts';
import type { SignInGuard } from '../guard/sign-in-guard.ts';
import { verifyPassword } from './passwords.ts';
import type { Account, AccountStore } from './store.ts';

export interface SignInAttempt {
  readonly username: string;
  readonly password: string;
  readonly address: string;
}

export type SignInOutcome =
  | { readonly account: Account }
  | { readonly refused: 'invalid' }
  /** `retryAfter` in seconds. */
  | { readonly refused: 'locked'; readonly retryAfter: number };

export type SignIn = ReturnType<typeof createSignIn>;

export interface SignInOptions {
  readonly accounts: Pick<AccountStore, 'findByUsername'>;
  readonly guard: SignInGuard;
  readonly audit: Audit;
}

export function createSignIn({ accounts, guard, audit }: SignInOptions) {
  return {
    async signIn({ username, password, address }: SignInAttempt): Promise<SignInOutcome> {
      // The database alone knows which spellings are one name. Counted by what was typed, an account could be guessed at under ever
      // new ones.
      const account = await accounts.findByUsername(username);
      const attempt = await guard.open({ name: account?.username ?? username, address });
      if ('retryAfter' in attempt) {
        audit.record({ kind: 'sign-in.refused', address, detail: { reason: 'locked' } });
        return { refused: 'locked', retryAfter: attempt.retryAfter };
      }
      const right = await verifyPassword(account?.passwordHash, password);
      const verdict = right && account && !account.disabledAt ? await attempt.succeeded() : await attempt.failed();
      if (verdict) {
        audit.record({ kind: 'sign-in.locked', accountId: account?.id, address });
        return { refused: 'locked', retryAfter: verdict.retryAfter };
      }
      if (!right || !account || account.disabledAt) {
        audit.record({
          kind: 'sign-in.refused',
          accountId: account?.id,
          address,
          detail: { reason: !account ? 'unknown account' : right ? 'account disabled' : 'wrong password' },
        });
        return { refused: 'invalid' };
      }
      return { account };
    },
  };
}
