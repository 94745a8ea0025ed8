// Sends the e-mails about an account to its owner, and verifies an e-mail address when the owner opens the mailed link.
import type { Logger } from '@bay-booking/service/logging';
import type { Audit } from '../audit/audit.ts';
import type { AuthConfig } from '../config.ts';
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

/** How long a link works. If you change a value, also change the texts of the e-mails and pages. */
const lifetimeSecondsOf = { verification: 24 * 3600, reset: 30 * 60 };

export interface AccountEmailsOptions {
  readonly config: Pick<AuthConfig, 'issuer'>;
  readonly links: OneTimeLinks;
  readonly accounts: AccountStore;
  readonly mailer: OutboxMailer;
  /** Limits how many e-mails with new links are sent to one recipient. */
  readonly recipientLimit: UsageLimit;
  /** Limits how often the same link is sent again to one recipient who has reached `recipientLimit`. */
  readonly repeatLimit: UsageLimit;
  readonly audit: Audit;
  readonly logger: Logger;
}

export type AccountEmails = ReturnType<typeof createAccountEmails>;

export function createAccountEmails(options: AccountEmailsOptions) {
  const { config, links, accounts, mailer, recipientLimit, repeatLimit, audit, logger } = options;
  const { issuer } = config;
  const pendingResets = new Set<Promise<void>>();

  return {
    /**
     * Mails a link that verifies the e-mail address, if the account has an unverified address. Never throws, because an
     * e-mail that cannot be queued must not make the registration fail.
     */
    async sendVerification(account: Account): Promise<void> {
      const { email } = account;
      if (!email || account.emailVerified) return;
      try {
        // `use` returns the seconds until another e-mail is allowed, or 0 if this e-mail is allowed.
        const isOverLimit = (await recipientLimit.use(email)) > 0;
        if (isOverLimit) return;
        const lifetimeSeconds = lifetimeSecondsOf.verification;
        const token = await links.issue({ accountId: account.id, email, purpose: 'verify-email', lifetimeSeconds });
        const link = `${issuer}/verify-email?token=${token}`;
        await mailer.enqueue(verificationEmail({ to: email, name: account.name, link }));
      } catch (err) {
        logger.error({ err }, 'verification e-mail was not queued');
      }
    },

    /**
     * Mails a link with which a user can set a new password. Works in the background, because the response time must
     * not reveal whether the account exists. `address` is the IP address of the request.
     */
    sendReset(username: string, address: string | undefined): void {
      const send = async (): Promise<void> => {
        const account = await accounts.findByUsername(username);
        const email = account && emailAddressOf(account);
        audit.record({ kind: 'password-reset.requested', accountId: account?.id, address });
        if (!account || account.disabledAt || !email) return;
        // A new link ends the previous link. By requesting links all the time, an attacker could make every link of the
        // owner stop working. If there are too many requests, the existing link is therefore mailed again instead, and
        // only from time to time.
        const isOverLimit = (await recipientLimit.use(email)) > 0;
        if (isOverLimit && (await repeatLimit.use(email)) > 0) return;
        const lifetimeSeconds = lifetimeSecondsOf.reset;
        const newLink = { accountId: account.id, email, purpose: 'reset-password', lifetimeSeconds } as const;
        const token = await (isOverLimit ? links.repeat(newLink) : links.issue(newLink));
        const link = `${issuer}/reset-password/new?token=${token}`;
        await mailer.enqueue(passwordResetEmail({ to: email, name: account.name, link }));
      };
      const pending = send()
        .catch((err: unknown) => logger.error({ err }, 'password reset e-mail was not queued'))
        .finally(() => pendingResets.delete(pending));
      pendingResets.add(pending);
    },

    /** Informs the owner about a changed password. Never throws, because the password has already been changed. */
    async sendPasswordChanged(account: Account): Promise<void> {
      const email = emailAddressOf(account);
      if (!email) return;
      const link = `${issuer}/reset-password`;
      await mailer
        .enqueue(passwordChangedEmail({ to: email, name: account.name, link }))
        .catch((err: unknown) => logger.error({ err }, 'e-mail about a changed password was not queued'));
    },

    /**
     * Informs the owner of the account that an identity at a social provider was linked. `provider` is the title of the
     * provider. Never throws, because the identity has already been linked.
     */
    async sendSocialLinked(account: Account, provider: string): Promise<void> {
      const email = emailAddressOf(account);
      if (!email) return;
      const link = `${issuer}/account`;
      await mailer
        .enqueue(socialLinkedEmail({ to: email, name: account.name, link }, provider))
        .catch((err: unknown) => logger.error({ err }, 'e-mail about a linked identity was not queued'));
    },

    /** Verifies the address to which the link with this token was mailed. Returns false if the link no longer works. */
    async verifyEmail(token: string, address: string | undefined): Promise<boolean> {
      const owner = await links.consume('verify-email', token);
      if (!owner || !(await accounts.verifyEmail(owner.accountId, owner.email))) return false;
      audit.record({ kind: 'email.verified', accountId: owner.accountId, address });
      return true;
    },

    /** Resolves when all e-mails for password resets that were requested so far are queued. */
    waitUntilIdle: async (): Promise<void> => {
      await Promise.all(pendingResets);
    },
  };
}

/** Returns the e-mail address of the account. If it has none, returns the user name if that is an e-mail address. */
const emailAddressOf = ({ email, username }: Account): string | undefined =>
  email ?? (username.includes('@') ? username : undefined);
