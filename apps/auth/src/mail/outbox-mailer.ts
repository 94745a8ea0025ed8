// How does mail leave? From the outbox by SMTP, again and later when the server is away, until a day has passed. Without a server it is
// written to the log (development), or nowhere (`MAIL=off`). Contract section 5.
import type { Logger } from '@bay-booking/service/logging';
import { createTransport } from 'nodemailer';
import type { Mail, MailStore } from './store.ts';

export interface OutboxMailerOptions {
  readonly store: MailStore;
  readonly smtpUrl: string | undefined;
  /** `false`: nothing is sent or logged. */
  readonly on: boolean;
  readonly from: string;
  readonly logger: Logger;
  /** Milliseconds between looks at the outbox. */
  readonly interval?: number;
}

export interface OutboxMailer {
  /** Resolves when the mail is safe in the outbox. @throws {Error} when that is full */
  readonly enqueue: (mail: Mail) => Promise<void>;
  readonly close: () => Promise<void>;
}

const outboxAtMost = 20_000;
const atOnce = 10;
/** Seconds: longer than all the time-outs of a delivery together. */
const lease = 120;
/** 5 s, 10 s, 20 s … up to an hour; 32 tries are a little more than a day. */
const pauseAfter = (tries: number): number => Math.min(5 * 2 ** (tries - 1), 3600);
const triesAtMost = 32;

export function createOutboxMailer(options: OutboxMailerOptions): OutboxMailer {
  const { store, smtpUrl, on, from, logger, interval = 5_000 } = options;
  if (!on || !smtpUrl) {
    return {
      enqueue: async (mail) => {
        if (on)
          logger.info(
            { mail: { to: mail.to, subject: mail.subject, text: mail.text } },
            'mail (no SMTP_URL: it is not sent)',
          );
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

  const deliver = async (mail: Mail & { id: string; tries: number }): Promise<void> => {
    try {
      await transport.sendMail({
        from,
        to: { name: '', address: mail.to },
        subject: mail.subject,
        text: mail.text,
        html: mail.html,
      });
      await store.remove(mail.id);
    } catch (error) {
      const { responseCode, message } = error as Error & { responseCode?: number };
      // 5xx about the mail itself: the server will never take it.
      const hopeless =
        (responseCode !== undefined && responseCode >= 550 && responseCode < 560) || mail.tries >= triesAtMost;
      logger.warn({ mailId: mail.id, tries: mail.tries, reason: message, hopeless }, 'mail could not be sent');
      if (hopeless) await store.remove(mail.id);
      else await store.retryIn(mail.id, pauseAfter(mail.tries));
    }
  };

  let closed = false;
  let again = false;
  let working: Promise<void> | undefined;
  const work = async (): Promise<void> => {
    do {
      again = false;
      const due = await store.take(atOnce, lease);
      await Promise.all(due.map(deliver));
      if (due.length === atOnce) again = true;
    } while (again && !closed);
  };
  const lookNow = (): void => {
    again = true;
    working ??= work()
      .catch((err: unknown) => logger.debug({ err }, 'the outbox will be looked at again'))
      .finally(() => {
        working = undefined;
      });
  };
  const timer = setInterval(lookNow, interval);
  timer.unref();

  return {
    enqueue: async (mail) => {
      if (!(await store.add(mail, outboxAtMost))) throw new Error('the outbox is full');
      lookNow();
    },
    close: async () => {
      closed = true;
      clearInterval(timer);
      await working;
      transport.close();
    },
  };
}
