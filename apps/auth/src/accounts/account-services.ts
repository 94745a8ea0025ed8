// Creates the services that work on accounts: the store, the check of passwords and its guard, one-time links and emails.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { Audit } from '../audit/audit.ts';
import type { AuthConfig } from '../config.ts';
import { createFailureCounters } from '../guard/failure-counter.ts';
import { nameKey } from '../guard/keys.ts';
import { createSignInGuard } from '../guard/sign-in-guard.ts';
import { createUsageLimit } from '../guard/usage-limit.ts';
import { createOutboxMailer } from '../mail/outbox-mailer.ts';
import { createMailStore } from '../mail/store.ts';
import { createAccountEmails } from './account-emails.ts';
import { createOneTimeLinks } from './one-time-link-store.ts';
import { createSignIn } from './sign-in.ts';
import { createAccountStore, type SocialIdentity } from './store.ts';

export interface AccountServicesOptions {
  readonly db: Database;
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly audit: Audit;
}

export type AccountServices = ReturnType<typeof createAccountServices>;

export function createAccountServices({ db, config, logger, audit }: AccountServicesOptions) {
  const store = createAccountStore({ db });
  const accounts = {
    ...store,
    findOrCreateBySocial: async (identity: SocialIdentity) => {
      const account = await store.findOrCreateBySocial(identity);
      if (account.isNew) {
        audit.record({ kind: 'account.registered', accountId: account.id, detail: { provider: identity.provider } });
      }
      return account;
    },
  };
  const count = createFailureCounters(db);
  const guard = createSignInGuard(count, config.signInLimits);
  const { signIn } = createSignIn({ accounts, guard, audit });
  const mailer = createOutboxMailer({
    store: createMailStore({ db }),
    smtpUrl: config.smtpUrl,
    on: config.mail === 'on',
    from: config.mailFrom,
    logger,
  });
  const links = createOneTimeLinks({ db });
  const emails = createAccountEmails({
    issuer: config.issuer,
    links,
    accounts,
    mailer,
    perRecipient: createUsageLimit(count, { name: 'mail', limit: 5, window: 3600 }, nameKey),
    audit,
    logger,
  });

  return {
    accounts,
    count,
    signIn,
    resetFailures: guard.resetFailures,
    mailer,
    links,
    emails,
    /** Waits for the emails that are still being written, and stops the delivery of emails. */
    close: async (): Promise<void> => {
      await emails.settled();
      await mailer.close();
    },
  };
}
