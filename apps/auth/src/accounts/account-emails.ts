// Which one-time links go to an account's owner by mail, and what happens when one is used? Contract section 5.
import type { Logger } from '@bay-booking/service/logging';
import type { Audit } from '../audit/audit.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import { passwordChangedEmail, passwordResetEmail, verificationEmail } from '../mail/email-templates.ts';
import type { OutboxMailer } from '../mail/outbox-mailer.ts';
import type { OneTimeLinks } from './one-time-link-store.ts';
import type { Account, AccountStore } from './store.ts';

/** Seconds. */
const lifetimes = { verification: 24 * 3600, reset: 30 * 60 };

export interface AccountEmailsOptions {
  readonly issuer: string;
  readonly links: OneTimeLinks;
  readonly accounts: AccountStore;
  readonly mailer: OutboxMailer;
  /** Mails that one recipient may be sent. */
  readonly perRecipient: UsageLimit;
  readonly audit: Audit;
  readonly logger: Logger;
}

export type AccountEmails = ReturnType<typeof createAccountEmails>;

export function createAccountEmails(options: AccountEmailsOptions) {
  const { issuer, links, accounts, mailer, perRecipient, audit, logger } = options;
  const under = new Set<Promise<void>>();
  const nameOf = (account: Account): string => account.name ?? '';

  return {
    /** A mail that cannot be written must not undo the registration. */
    async sendVerification(account: Account): Promise<void> {
      const { email } = account;
      if (!email || account.emailVerified) return;
      try {
        if ((await perRecipient.use(email)) > 0) return;
        const lifetime = lifetimes.verification;
        const token = await links.issue({ accountId: account.id, email, purpose: 'verify-email', lifetime });
        const link = `${issuer}/verify-email?token=${token}`;
        await mailer.enqueue(verificationEmail({ to: email, name: nameOf(account), link }));
      } catch (err) {
        logger.error({ err }, 'verification mail not sent');
      }
    },

    /** Not waited for: how long it takes would tell whether the account exists. */
    sendReset(username: string, address: string | undefined): void {
      const work = async (): Promise<void> => {
        const account = await accounts.findByUsername(username);
        const email = account?.email ?? (account?.username.includes('@') ? account.username : undefined);
        audit.record({ kind: 'password-reset.requested', accountId: account?.id, address });
        if (!account || account.disabledAt || !email || (await perRecipient.use(email)) > 0) return;
        const lifetime = lifetimes.reset;
        const token = await links.issue({ accountId: account.id, email, purpose: 'reset-password', lifetime });
        const link = `${issuer}/reset-password/new?token=${token}`;
        await mailer.enqueue(passwordResetEmail({ to: email, name: nameOf(account), link }));
      };
      const job = work()
        .catch((err: unknown) => logger.error({ err }, 'reset mail not sent'))
        .finally(() => under.delete(job));
      under.add(job);
    },

    async sendPasswordChanged(account: Account): Promise<void> {
      const email = account.email ?? (account.username.includes('@') ? account.username : undefined);
      if (!email) return;
      const link = `${issuer}/reset-password`;
      await mailer
        .enqueue(passwordChangedEmail({ to: email, name: nameOf(account), link }))
        .catch((err: unknown) => logger.error({ err }, 'mail about a changed password not sent'));
    },

    async verifyEmail(token: string, address: string | undefined): Promise<boolean> {
      const owner = await links.take('verify-email', token);
      if (!owner || !(await accounts.verifyEmail(owner.accountId, owner.email))) return false;
      audit.record({ kind: 'email.verified', accountId: owner.accountId, address });
      return true;
    },

    settled: async (): Promise<void> => {
      await Promise.all(under);
    },
  };
}
