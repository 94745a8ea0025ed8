// Sends e-mails about an account to its owner and verifies an e-mail address when the owner opens the mailed link.

import type { Logger } from '@bay-booking/service/logging';
import type { Audit } from '../audit/audit.ts';
import type { AuthConfig } from '../config.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import {
  factorChangedEmail,
  passwordChangedEmail,
  passwordResetEmail,
  type Recipient,
  socialLinkedEmail,
  verificationEmail,
  wrongFactorsEmail,
} from '../outbox/email-templates.ts';
import type { Email, Mailer } from '../outbox/mailer.ts';
import type { OneTimeLinks } from './one-time-link-store.ts';
import type { Account, AccountStore } from './store.ts';

/** How long a link works. If you change a value, also change the texts of the e-mails and pages. */
const lifetimeSecondsOf = { verification: 24 * 3600, reset: 30 * 60 };

export interface AccountEmailsOptions {
  readonly config: AuthConfig;
  readonly links: OneTimeLinks;
  readonly accounts: AccountStore;
  readonly audit: Audit;
  readonly logger: Logger;
  readonly mailer: Mailer;
  /** Limits how many e-mails with new links are sent to one recipient. */
  readonly recipientLimit: UsageLimit;
  /** Limits how often the same link is sent again to one recipient who has reached `recipientLimit`. */
  readonly repeatLimit: UsageLimit;
}

export type AccountEmails = ReturnType<typeof createAccountEmails>;

export function createAccountEmails({
  config,
  links,
  accounts,
  audit,
  logger,
  mailer,
  recipientLimit,
  repeatLimit,
}: AccountEmailsOptions) {
  const { issuer } = config;
  const pendingResets = new Set<Promise<void>>();

  /** Logs a failure instead of rejecting: the request must also succeed if its e-mail cannot be queued. */
  const logFailure = (sending: Promise<void>, message: string): Promise<void> =>
    sending.catch((err: unknown) => logger.error({ err }, message));

  /** Tells the account owner about a change. */
  const sendNotice = async (account: Account, path: string, write: (recipient: Recipient) => Email): Promise<void> => {
    const to = emailAddressOf(account);
    if (!to) return;
    const mail = write({ to, name: nameInEmail(account), link: `${issuer}${path}` });
    await logFailure(mailer.enqueue({ ...mail, accountId: account.id }), `e-mail “${mail.subject}” was not queued`);
  };

  const mailVerificationLink = async ({ id, email, emailVerified }: Account): Promise<void> => {
    if (!email || emailVerified) return;
    const isOverLimit = (await recipientLimit.use(email)) > 0;
    if (isOverLimit) return;
    const lifetimeSeconds = lifetimeSecondsOf.verification;
    const token = await links.issue({ accountId: id, email, purpose: 'verify-email', lifetimeSeconds });
    const mail = verificationEmail({ to: email, name: null, link: `${issuer}/verify-email?token=${token}` });
    await mailer.enqueue({ ...mail, accountId: id });
  };

  const mailResetLink = async (username: string, address: string | undefined): Promise<void> => {
    const account = await accounts.findByUsername(username);
    const email = account && emailAddressOf(account);
    audit.record({ kind: 'password-reset.requested', accountId: account?.id, address });
    if (!account || account.disabledAt || !email) return;
    // A new link ends the previous one, so an attacker could make every link of the owner stop working. Above the
    // limit, the existing link is therefore mailed again instead, and only from time to time.
    const isOverLimit = (await recipientLimit.use(email)) > 0;
    if (isOverLimit && (await repeatLimit.use(email)) > 0) return;
    const lifetimeSeconds = lifetimeSecondsOf.reset;
    const newLink = { accountId: account.id, email, purpose: 'reset-password', lifetimeSeconds } as const;
    const token = await (isOverLimit ? links.repeat(newLink) : links.issue(newLink));
    const link = `${issuer}/reset-password/new?token=${token}`;
    const mail = passwordResetEmail({ to: email, name: nameInEmail(account), link });
    await mailer.enqueue({ ...mail, accountId: account.id });
  };

  return {
    /** Mails a link that verifies the e-mail address, if the account has an unverified address. */
    sendVerification: (account: Account): Promise<void> =>
      logFailure(mailVerificationLink(account), 'verification e-mail was not queued'),

    /** Works in the background, because the response time must not reveal whether the account exists. */
    sendReset(username: string, address: string | undefined): void {
      const pending = logFailure(mailResetLink(username, address), 'password reset e-mail was not queued').finally(() =>
        pendingResets.delete(pending),
      );
      pendingResets.add(pending);
    },

    sendPasswordChanged: (account: Account): Promise<void> =>
      sendNotice(account, '/reset-password', passwordChangedEmail),

    /** `change` describes the change, such as `A passkey was added`. */
    sendFactorChanged: (account: Account, change: string): Promise<void> =>
      sendNotice(account, '/account/security', (recipient) => factorChangedEmail(recipient, change)),

    sendWrongFactors: (account: Account): Promise<void> => sendNotice(account, '/reset-password', wrongFactorsEmail),

    /** `provider` is the title of the provider. */
    sendSocialLinked: (account: Account, provider: string): Promise<void> =>
      sendNotice(account, '/account', (recipient) => socialLinkedEmail(recipient, provider)),

    /** Verifies the e-mail address that received the link. Returns false if the link no longer works. */
    async verifyEmail(token: string, address: string | undefined): Promise<boolean> {
      const owner = await links.consume('verify-email', token, (tx, { accountId, email }) =>
        accounts.verifyEmail(accountId, email, tx),
      );
      if (!owner) return false;
      audit.record({ kind: 'email.verified', accountId: owner.accountId, address });
      return true;
    },

    /** Resolves when all e-mails for password resets that were requested so far are queued. */
    waitUntilIdle: async (): Promise<void> => {
      await Promise.all(pendingResets);
    },
  };
}

/** Returns the account's e-mail address, or else the user name if it contains an @. */
export const emailAddressOf = ({ email, username }: Pick<Account, 'email' | 'username'>): string | undefined =>
  email ?? (username.includes('@') ? username : undefined);

/** Anybody can register with another person's e-mail address and write a message to that person into the name. */
export const nameInEmail = ({ name, emailVerified }: Pick<Account, 'name' | 'emailVerified'>): string | null =>
  emailVerified ? name : null;
