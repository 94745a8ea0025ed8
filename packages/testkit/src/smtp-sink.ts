// Where does mail go in tests? To a real SMTP server of our own on a free port, which keeps every mail for the test to read. It can also
// refuse mail, as real servers do.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly to: readonly string[];
  readonly from: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface SmtpSink {
  /** For `SMTP_URL`. */
  readonly url: string;
  readonly mails: () => readonly ReceivedMail[];
  /** The latest mail to this address that `matches`; waits for it. @throws {Error} when none has come after ten seconds */
  readonly mailTo: (address: string, matches?: (mail: ReceivedMail) => boolean) => Promise<ReceivedMail>;
  /** Answers every further mail with this SMTP code; undefined takes them again. */
  readonly refuseWith: (code: number | undefined) => void;
  readonly close: () => Promise<void>;
}

export async function startSmtpSink(): Promise<SmtpSink> {
  const mails: ReceivedMail[] = [];
  let refusal: number | undefined;
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (refusal !== undefined) return done(Object.assign(new Error('refused'), { responseCode: refusal }));
        PostalMime.parse(Buffer.concat(chunks)).then((mail) => {
          mails.push({
            to: session.envelope.rcptTo.map(({ address }) => address),
            from: mail.from?.address ?? '',
            subject: mail.subject ?? '',
            text: mail.text ?? '',
            html: mail.html ?? '',
          });
          done();
        }, done);
      });
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;

  return {
    url: `smtp://127.0.0.1:${port}`,
    mails: () => mails,
    mailTo: async (address, matches = () => true) => {
      const limit = Date.now() + 10_000;
      for (;;) {
        const found = mails.findLast((mail) => mail.to.includes(address) && matches(mail));
        if (found) return found;
        if (Date.now() > limit) throw new Error(`no such mail to ${address} has come`);
        await pause(20);
      }
    },
    refuseWith: (code) => {
      refusal = code;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
