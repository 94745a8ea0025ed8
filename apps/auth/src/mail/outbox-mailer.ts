// Sends the e-mails of the outbox by SMTP. If the mail server does not accept an e-mail, it is sent again for a day.
//
// Without `SMTP_URL`, e-mails are written to the log (for development). With `MAIL=off`, they are dropped.
import type { Logger } from '@bay-booking/service/logging';
import { createTransport } from 'nodemailer';
import type { Email, MailStore, QueuedEmail } from './store.ts';

export interface OutboxMailerOptions {
  readonly store: MailStore;
  readonly smtpUrl: string | undefined;
  /** Whether e-mails are sent. If false, they are neither sent nor logged. */
  readonly isOn: boolean;
  readonly from: string;
  readonly logger: Logger;
}

export interface OutboxMailer {
  /**
   * Stores an e-mail in the outbox, and does not wait until it is sent.
   *
   * @throws {Error} if the outbox is full
   */
  readonly enqueue: (email: Email) => Promise<void>;
  /** Stops sending, and waits for the e-mails that are being sent. */
  readonly close: () => Promise<void>;
}

/** The milliseconds between two checks of the outbox. */
const checkInterval = 5_000;
const maxQueued = 20_000;
const maxParallel = 10;
/** In seconds. A lease must be longer than all timeouts of one delivery together. */
const lease = 120;
/** With the delays below, 32 attempts take a little more than a day. */
const maxTries = 32;
/** The seconds until the next attempt: 5, 10, 20 and so on, up to an hour. */
const retryDelay = (tries: number): number => Math.min(5 * 2 ** (tries - 1), 3600);

export function createOutboxMailer({ store, smtpUrl, isOn, from, logger }: OutboxMailerOptions): OutboxMailer {
  if (!isOn || !smtpUrl) {
    return {
      enqueue: async ({ to, subject, text }) => {
        if (isOn) logger.info({ mail: { to, subject, text } }, 'e-mail is not sent, because SMTP_URL is not set');
      },
      close: async () => {},
    };
  }

  const transport = createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: 2,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    dnsTimeout: 5_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as Parameters<typeof createTransport>[0]);

  const deliver = async ({ id, tries, to, subject, text, html }: QueuedEmail): Promise<void> => {
    try {
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text, html });
      await store.delete(id);
    } catch (error) {
      const { responseCode, message } = error as Error & { responseCode?: number };
      const givenUp = isPermanent(responseCode) || tries >= maxTries;
      logger.warn({ mailId: id, tries, reason: message, givenUp }, 'e-mail could not be sent');
      if (givenUp) await store.delete(id);
      else await store.retryIn(id, retryDelay(tries));
    }
  };

  let closed = false;
  let checkAgain = false;
  let delivering: Promise<void> | undefined;
  const deliverDueEmails = async (): Promise<void> => {
    do {
      checkAgain = false;
      const due = await store.lease(maxParallel, lease);
      await Promise.all(due.map(deliver));
      if (due.length === maxParallel) checkAgain = true;
    } while (checkAgain && !closed);
  };
  const checkOutbox = (): void => {
    checkAgain = true;
    delivering ??= deliverDueEmails()
      .catch((err: unknown) => logger.debug({ err }, 'outbox could not be read and will be checked again'))
      .finally(() => {
        delivering = undefined;
      });
  };
  const timer = setInterval(checkOutbox, checkInterval);
  timer.unref();

  return {
    enqueue: async (email) => {
      if (!(await store.add(email, maxQueued))) throw new Error('the outbox is full');
      checkOutbox();
    },
    close: async () => {
      closed = true;
      clearInterval(timer);
      await delivering;
      transport.close();
    },
  };
}

/** Whether the mail server would reject the e-mail again. The SMTP codes 550 to 559 are about the e-mail itself. */
const isPermanent = (code: number | undefined): boolean => code !== undefined && code >= 550 && code < 560;
