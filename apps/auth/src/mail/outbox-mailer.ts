// Sends the outbox's e-mails by SMTP. A failed attempt is repeated for a day.
//
// If `SMTP_URL` is unset, the mailer only logs e-mails, for development. If `MAIL` is `off`, it discards them.
import type { Queryable } from '@bay-booking/service/database/database';
import { startLoop } from '@bay-booking/service/periodic';
import { createTransport } from 'nodemailer';
import type { Stores } from '../services.ts';
import { observeMail } from './metrics.ts';
import type { Email, MailStore, QueuedEmail } from './store.ts';

export type OutboxMailer = ReturnType<typeof createOutboxMailer>;

const checkIntervalMs = 5_000;
const maxQueued = 20_000;
/** The number of e-mails that this instance leases and sends at the same time. */
const maxParallel = 10;
/** More than the sum of all SMTP timeouts, so that no other instance sends the same e-mail. */
const leaseSeconds = 120;
/** With the delays of `retryDelaySeconds`, the last of 34 attempts is made 24 hours after the first. */
const maxTries = 34;
/** Returns the delay after the attempt with the number `tries`: 5 s, 10 s, 20 s and so on, up to an hour. */
const retryDelaySeconds = (tries: number): number => Math.min(5 * 2 ** (tries - 1), 3600);

export function createOutboxMailer({ config, logger, metrics }: Stores, store: MailStore) {
  const { smtpUrl, mailFrom } = config;
  const count = observeMail(metrics, store.oldestSeconds);
  const isOn = config.mail === 'on';
  if (!isOn || !smtpUrl) {
    return {
      enqueue: async ({ to, subject, text }: Email, _on?: Queryable): Promise<void> => {
        if (isOn) logger.info({ mail: { to, subject, text } }, 'e-mail is not sent, because SMTP_URL is not set');
      },
      close: async () => {},
    };
  }

  // All timeouts are in milliseconds. The cast is needed because the types allow no `url` together with other options.
  const transport = createTransport({
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

  const deliver = async ({ id, tries, to, subject, text, html }: QueuedEmail): Promise<void> => {
    try {
      // An object is one recipient. A string would be parsed as a list.
      await transport.sendMail({ from: mailFrom, to: { name: '', address: to }, subject, text, html });
      await store.delete(id);
      count('sent');
    } catch (error) {
      const { responseCode, message } = error as Error & { responseCode?: number };
      const givenUp = isPermanent(responseCode) || tries >= maxTries;
      logger.warn({ mailId: id, tries, reason: message, givenUp }, 'e-mail could not be sent');
      count(givenUp ? 'failed' : 'retried');
      if (givenUp) await store.delete(id);
      else await store.retryIn(id, retryDelaySeconds(tries));
    }
  };

  const loop = startLoop({
    name: 'send e-mails',
    intervalMs: checkIntervalMs,
    logger,
    run: async () => {
      const due = await store.lease(maxParallel, leaseSeconds);
      await Promise.all(due.map(deliver));
      return due.length === maxParallel;
    },
  });

  return {
    /**
     * Stores an e-mail in the outbox, also as a part of the transaction `on`. Does not wait until the e-mail is sent.
     *
     * @throws {Error} if the outbox is full
     */
    enqueue: async (email: Email, on?: Queryable): Promise<void> => {
      if (!(await store.add(email, maxQueued, on))) {
        count('rejected');
        throw new Error('the outbox is full');
      }
      void loop.wake();
    },
    /** Stops sending, and waits for the e-mails that are being sent. */
    close: async () => {
      await loop.stop();
      transport.close();
    },
  };
}

/** Whether the mail server would reject the e-mail again. The SMTP codes 550 to 559 concern the e-mail itself. */
const isPermanent = (code: number | undefined): boolean => code !== undefined && code >= 550 && code < 560;
