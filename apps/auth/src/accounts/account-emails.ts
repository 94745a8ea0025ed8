// Sends the e-mails with one-time links to the owner of an account, and confirms an address when its link is used.
import type { Logger } from '@bay-booking/service/logging';
import type { Audit } from '../audit/audit.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import {
  passwordChangedEmail,
  passwordResetEmail,
  socialLinkedEmail,
  verificationEmail,
} from '../mail/email-templates.ts';
import type { OutboxMailer } from '../mail/outbox-mailer.ts';
import type { OneTimeLinks } from './one-time-link-store.ts';
import type { Account, AccountStore } from './store.ts';

/** Seconds that a link works. The e-mails and pages name the same times. */
const lifetimes = { verification: 24 * 3600, reset: 30 * 60 };

export interface AccountEmailsOptions {
  readonly issuer: string;
  readonly links: OneTimeLinks;
  readonly accounts: AccountStore;
  readonly mailer: OutboxMailer;
  /** Limits the e-mails to one recipient. */
  readonly recipientLimit: UsageLimit;
  /** Limits the e-mails to one recipient that repeat a link above `recipientLimit`. */
  readonly repeatLimit: UsageLimit;
  readonly audit: Audit;
  readonly logger: Logger;
}

export type AccountEmails = ReturnType<typeof createAccountEmails>;

export function createAccountEmails(options: AccountEmailsOptions) {
  const { issuer, links, accounts, mailer, recipientLimit, repeatLimit, audit, logger } = options;
  const pendingResets = new Set<Promise<void>>();

  return {
    /** Never fails: an e-mail that cannot be queued must not undo the registration. */
    async sendVerification(account: Account): Promise<void> {
      const { email } = account;
      if (!email || account.emailVerified) return;
      try {
        if ((await recipientLimit.use(email)) > 0) return;
        const lifetime = lifetimes.verification;
        const token = await links.issue({ accountId: account.id, email, purpose: 'verify-email', lifetime });
        const link = `${issuer}/verify-email?token=${token}`;
        await mailer.enqueue(verificationEmail({ to: email, name: account.name, link }));
      } catch (err) {
        logger.error({ err }, 'verification e-mail was not queued');
      }
    },

    /** Works in the background: the response time must not reveal whether the account exists. */
    sendReset(username: string, address: string | undefined): void {
      const send = async (): Promise<void> => {
        const account = await accounts.findByUsername(username);
        const email = account && emailAddressOf(account);
        audit.record({ kind: 'password-reset.requested', accountId: account?.id, address });
        if (!account || account.disabledAt || !email) return;
        // Somebody else may have used up the e-mails of the recipient. Above the limit, the link that still works is
        // mailed again from time to time. It stays the same, so that nobody can end the link that the owner opens.
        const overLimit = (await recipientLimit.use(email)) > 0;
        if (overLimit && (await repeatLimit.use(email)) > 0) return;
        const owner = { accountId: account.id, email, purpose: 'reset-password', lifetime: lifetimes.reset } as const;
        const token = await (overLimit ? links.repeat(owner) : links.issue(owner));
        const link = `${issuer}/reset-password/new?token=${token}`;
        await mailer.enqueue(passwordResetEmail({ to: email, name: account.name, link }));
      };
      const pending = send()
        .catch((err: unknown) => logger.error({ err }, 'password reset e-mail was not queued'))
        .finally(() => pendingResets.delete(pending));
      pendingResets.add(pending);
    },

    /** Never fails: the password has been changed already. */
    async sendPasswordChanged(account: Account): Promise<void> {
      const email = emailAddressOf(account);
      if (!email) return;
      const link = `${issuer}/reset-password`;
      await mailer
        .enqueue(passwordChangedEmail({ to: email, name: account.name, link }))
        .catch((err: unknown) => logger.error({ err }, 'e-mail about a changed password was not queued'));
    },

    /** Never fails: the identity has been linked already. `provider` is the title of the provider. */
    async sendSocialLinked(account: Account, provider: string): Promise<void> {
      const email = emailAddressOf(account);
      if (!email) return;
      const link = `${issuer}/account`;
      await mailer
        .enqueue(socialLinkedEmail({ to: email, name: account.name, link, provider }))
        .catch((err: unknown) => logger.error({ err }, 'e-mail about a linked identity was not queued'));
    },

    /** False if the link no longer works. */
    async verifyEmail(token: string, address: string | undefined): Promise<boolean> {
      const owner = await links.consume('verify-email', token);
      if (!owner || !(await accounts.verifyEmail(owner.accountId, owner.email))) return false;
      audit.record({ kind: 'email.verified', accountId: owner.accountId, address });
      return true;
    },

    /** Resolves when no e-mail is being written in the background. */
    waitUntilIdle: async (): Promise<void> => {
      await Promise.all(pendingResets);
    },
  };
}

/** The account's e-mail address; without one, its user name if that is an e-mail address. */
const emailAddressOf = ({ email, username }: Account): string | undefined =>
  email ?? (username.includes('@') ? username : undefined);
