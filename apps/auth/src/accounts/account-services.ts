// Creates the services for accounts: stores, sign-in with a password, protection against guessing, one-time links and
// e-mails.
import type { Database } from '@bay-booking/service/database/database';
import { createFailureCounterFactory } from '../guard/failure-counter.ts';
import { nameKey } from '../guard/keys.ts';
import { createSignInGuard } from '../guard/sign-in-guard.ts';
import { createUsageLimit } from '../guard/usage-limit.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { createOutboxMailer } from '../mail/outbox-mailer.ts';
import { createMailStore } from '../mail/store.ts';
import { createAccountEmails } from './account-emails.ts';
import { createOneTimeLinks } from './one-time-link-store.ts';
import { createSignIn } from './sign-in.ts';
import { createSocialIdentityStore, type SocialIdentity } from './social-identity-store.ts';
import { type Account, createAccountStore } from './store.ts';

export interface AccountServicesOptions {
  readonly db: Database;
  readonly shared: SharedServices;
}

export type AccountServices = ReturnType<typeof createAccountServices>;

export function createAccountServices({ db, shared }: AccountServicesOptions) {
  const { config, audit } = shared;
  const accounts = createAccountStore({ db });
  const socialIdentities = createSocialIdentityStore({ db });
  const createCounter = createFailureCounterFactory(db);
  const guard = createSignInGuard(createCounter, config.signInLimits);
  const { signIn } = createSignIn({ ...shared, accounts, guard });
  const mailer = createOutboxMailer({ ...shared, store: createMailStore({ db }) });
  const links = createOneTimeLinks({ db, key: config.encryptionKey });
  const emails = createAccountEmails({
    ...shared,
    links,
    accounts,
    mailer,
    // Each recipient gets at most 5 e-mails with new links per hour. A recipient who has reached this limit gets the
    // previous link again, at most once in 5 minutes.
    recipientLimit: createUsageLimit(createCounter, { name: 'mail', limit: 5, windowSeconds: 3600 }, nameKey),
    repeatLimit: createUsageLimit(createCounter, { name: 'mail-again', limit: 1, windowSeconds: 300 }, nameKey),
  });

  return {
    accounts,
    socialIdentities,
    createCounter,
    signIn,
    /** Begins a social sign-in, whose failures count only for the IP address. */
    beginSocialAttempt: (address: string) => guard.beginAttempt({ address }),
    /** Deletes the count of failed sign-ins of a user name. All spellings of the user name share one count. */
    resetFailures: async (username: string): Promise<void> =>
      guard.resetFailures((await accounts.lookUpForSignIn(username)).name),
    mailer,
    links,
    emails,
    /**
     * Limits how often a new password can be submitted for an account, or for an invitation that creates an account.
     * Each account or invitation has its own count, under its id.
     */
    newPasswordLimit: createUsageLimit(
      createCounter,
      { name: 'new-password', limit: 30, windowSeconds: 3600 },
      (id) => id,
    ),

    async findOrCreateSocialAccount(identity: SocialIdentity): Promise<Account> {
      const { account, isNew } = await socialIdentities.findOrCreateAccount(identity);
      if (isNew) {
        audit.record({ kind: 'account.registered', accountId: account.id, detail: { provider: identity.provider } });
      }
      return account;
    },

    /** Waits until all e-mails are queued, and stops their delivery. */
    close: async (): Promise<void> => {
      await emails.waitUntilIdle();
      await mailer.close();
    },
  };
}
