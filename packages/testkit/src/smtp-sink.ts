// Starts an SMTP server for tests on a free port. The server stores every received mail, and a test can make it refuse
// mail.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { eventually } from './wait.ts';

export interface ReceivedMail {
  readonly to: readonly string[];
  readonly from: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export type SmtpSink = Awaited<ReturnType<typeof startSmtpSink>>;

export async function startSmtpSink() {
  const mails: ReceivedMail[] = [];
  let rejectionCode: number | undefined;
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (rejectionCode !== undefined)
          return done(Object.assign(new Error('refused'), { responseCode: rejectionCode }));
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
  // Without a listener, a broken connection would end the process.
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;

  return {
    /** The address of this server, as the value of `SMTP_URL`. */
    url: `smtp://127.0.0.1:${port}`,
    mails: (): readonly ReceivedMail[] => mails,
    /** Waits for a mail to this address for which `matches` returns true. Returns the latest of these mails. */
    mailTo: (address: string, matches: (mail: ReceivedMail) => boolean = () => true) =>
      eventually(async () => mails.findLast((mail) => mail.to.includes(address) && matches(mail))),
    /** Rejects every further mail with this SMTP code. */
    rejectWith: (code: number) => {
      rejectionCode = code;
    },
    /** Ends the effect of `rejectWith`. */
    acceptAgain: () => {
      rejectionCode = undefined;
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
