// Sends e-mails by SMTP through the outbox. A failed attempt is repeated for a day.
//
// If `SMTP_URL` is unset, the mailer only logs e-mails, for development. If `MAIL` is `off`, it discards them.
import type { Database, Queryable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { createSecretBox } from '@bay-booking/service/secret-box';
import type { createTransport, Transporter } from 'nodemailer';
import type { AuthConfig } from '../config.ts';
import { canonicalName, readName } from '../input/username.ts';
import type { Outbox, OutboxSender } from './outbox.ts';
import { addEmailToOutbox, rewriteEmails } from './store.ts';

export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The account whose data the e-mail contains. */
  readonly accountId?: string | undefined;
}

export interface Mailer {
  /**
   * Stores an e-mail in the outbox, also as a part of the transaction `on`. Does not wait until the e-mail is sent.
   *
   * @throws {Error} if the outbox is full
   */
  readonly enqueue: (email: Email, on?: Queryable) => Promise<void>;
}

const maxQueued = 20_000;
/** With the delays of `retryDelaySeconds`, the last of 34 attempts is made 24 hours after the first. */
const maxTries = 34;
/** Returns the delay after the attempt with the number `tries`: 5 s, 10 s, 20 s and so on, up to an hour. */
const retryDelaySeconds = (tries: number): number => Math.min(5 * 2 ** (tries - 1), 3600);

/** An e-mail can contain a link or a code that works. */
interface EncryptedEmail {
  readonly encrypted: string;
}

const ownerOf = (recipientKey: string | null): string => `e-mail to ${recipientKey}`;

/** Returns false if the outbox is full. */
export function addEmail(
  on: Queryable,
  { accountId, ...email }: Email,
  encryptionKeys: readonly Buffer[],
): Promise<boolean> {
  const recipientKey = canonicalName(email.to);
  const encrypted = createSecretBox(encryptionKeys).encrypt(JSON.stringify(email), ownerOf(recipientKey));
  const payload: EncryptedEmail = { encrypted };
  return addEmailToOutbox(on, { accountId, recipientKey, payload }, maxQueued);
}

/** Encrypts every e-mail that waits with another key. */
export function reencryptEmails(db: Database, encryptionKeys: readonly Buffer[], newKey: Buffer): Promise<void> {
  const box = createSecretBox([newKey, ...encryptionKeys]);
  return rewriteEmails(db, ({ recipientKey, payload }): EncryptedEmail => {
    const owner = ownerOf(recipientKey);
    return { encrypted: box.encrypt(box.decrypt((payload as EncryptedEmail).encrypted, owner), owner) };
  });
}

type MailConfig = Pick<AuthConfig, 'mail' | 'mailFrom' | 'smtpUrl' | 'encryptionKeys'>;

export function createMailer(
  { mail, smtpUrl, encryptionKeys }: MailConfig,
  db: Database,
  logger: Logger,
  outbox: Outbox,
): Mailer {
  if (mail === 'on' && smtpUrl)
    return {
      enqueue: async (email, on = db) => {
        if (!(await addEmail(on, email, encryptionKeys))) {
          outbox.count('mail', 'rejected');
          throw new Error('the outbox is full');
        }
        outbox.wake();
      },
    };
  return {
    enqueue: async ({ to, subject, text }) => {
      if (mail === 'on')
        logger.info({ mail: { to, subject, text } }, 'e-mail is not sent, because SMTP_URL is not set');
    },
  };
}

export function createMailSender({ mail, mailFrom, smtpUrl, encryptionKeys }: MailConfig, logger: Logger) {
  const box = createSecretBox(encryptionKeys);
  const isOn = mail === 'on' && smtpUrl !== undefined;
  let transport: Transporter | undefined;
  /** Loads nodemailer, which takes 5 MB, for the first e-mail. */
  const openTransport = async (): Promise<Transporter> =>
    // All timeouts are in ms. The cast is needed because the types allow no `url` together with other options.
    (await import('nodemailer')).createTransport({
      url: smtpUrl,
      pool: true,
      maxConnections: 2,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 20_000,
      dnsTimeout: 5_000,
      // The text of an e-mail must never make nodemailer read a file or fetch a URL.
      disableFileAccess: true,
      disableUrlAccess: true,
    } as Parameters<typeof createTransport>[0]);
  const sender: OutboxSender = {
    results: ['sent', 'retried', 'failed', 'rejected'],
    isRepeatable: true,
    isReady: () => isOn,
    send: async ({ id, tries, recipientKey, payload }) => {
      try {
        const decrypted = box.decrypt((payload as EncryptedEmail).encrypted, ownerOf(recipientKey));
        const { to, subject, text, html } = JSON.parse(decrypted) as Email;
        // An object is one recipient. A string would be parsed as a list.
        transport ??= await openTransport();
        await transport.sendMail({
          from: mailFrom,
          to: { name: '', address: readName(to).address },
          subject,
          text,
          html,
        });
        return { result: 'sent' };
      } catch (error) {
        const { responseCode, message } = error as Error & { responseCode?: number };
        const givenUp = isPermanent(responseCode) || tries >= maxTries;
        logger.warn({ mailId: id, tries, reason: message, givenUp }, 'e-mail could not be sent');
        return givenUp ? { result: 'failed' } : { result: 'retried', retryInSeconds: retryDelaySeconds(tries) };
      }
    },
  };
  return { sender, close: () => transport?.close() };
}

/** Whether the mail server would reject the e-mail again. The SMTP codes 550 to 559 concern the e-mail itself. */
const isPermanent = (code: number | undefined): boolean => code !== undefined && code >= 550 && code < 560;
