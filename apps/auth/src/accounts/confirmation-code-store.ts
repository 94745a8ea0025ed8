// Mails a code that a user without a password needs to confirm a sign-in. A code belongs to one session.
import { createHmac, randomInt } from 'node:crypto';
import { type Database, type Queryable, query, queryOne } from '@bay-booking/service/database/database';
import type { AuthConfig } from '../config.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import { confirmationCodeEmail } from '../outbox/email-templates.ts';
import type { Mailer } from '../outbox/mailer.ts';
import { emailAddressOf, nameInEmail } from './account-emails.ts';
import type { Account } from './store.ts';

/** Also change the e-mail and the page if you change a value. */
const lifetimeSeconds = 10 * 60;
const maxTries = 5;
const isValid = `session_uid = $1 and account_id = $2 and expires_at > now() and tries < ${maxTries}`;

export interface CodeOwner {
  readonly account: Account;
  readonly sessionId: string;
}

export interface ConfirmationCodesOptions {
  readonly db: Database;
  readonly config: AuthConfig;
  readonly mailer: Mailer;
  /** Limits the codes, and so the guesses, for an account. */
  readonly limit: UsageLimit;
}

export function createConfirmationCodes({ db, config, mailer, limit }: ConfirmationCodesOptions) {
  // A reader of the database could guess the six digits of a plain hash.
  const hmacOf = (sessionId: string, code: string, key = config.encryptionKeys[0]): string =>
    createHmac('sha256', key).update(`confirmation code\0${sessionId}\0${code}`).digest('base64url');

  // Another instance may have sent the code with another key while KEY_ENCRYPTION_KEY is rotated.
  const keyOf = ({ account, sessionId }: CodeOwner, code: string) => [
    sessionId,
    account.id,
    config.encryptionKeys.map((encryptionKey) => hmacOf(sessionId, code, encryptionKey)),
  ];

  return {
    addressOf: emailAddressOf,

    /** Whether a code was mailed that has not expired, even if too many wrong codes were entered since. */
    async isSent(sessionId: string): Promise<boolean> {
      const rows = await query(
        db,
        'select 1 as found from confirmation_code where session_uid = $1 and expires_at > now()',
        [sessionId],
      );
      return rows.length > 0;
    },

    /** Replaces the previous code. Returns 0, or the seconds after which a code may be mailed. */
    async send({ account, sessionId }: CodeOwner): Promise<number> {
      const to = emailAddressOf(account);
      if (to === undefined) throw new Error('the account has no e-mail address');
      const waitSeconds = await limit.use(account.id);
      if (waitSeconds > 0) return waitSeconds;
      const code = String(randomInt(1_000_000)).padStart(6, '0');
      await query(
        db,
        `insert into confirmation_code (session_uid, account_id, code_hmac, expires_at)
         values ($1, $2, $3, now() + make_interval(secs => $4))
         on conflict (session_uid) do update set account_id = excluded.account_id, code_hmac = excluded.code_hmac,
           tries = 0, expires_at = excluded.expires_at`,
        [sessionId, account.id, hmacOf(sessionId, code), lifetimeSeconds],
      );
      const recipient = { to, name: nameInEmail(account), link: `${config.issuer}/account` };
      await mailer.enqueue({ ...confirmationCodeEmail(recipient, code), accountId: account.id });
      return 0;
    },

    /**
     * Counts a wrong code; a right one works until `consume`. The code has `ended` if it has expired, was used, or too
     * many wrong codes were entered.
     */
    async check(owner: CodeOwner, code: string): Promise<'right' | 'wrong' | 'ended'> {
      const tried = await queryOne<{ isRight: boolean }>(
        db,
        `update confirmation_code set tries = tries + (code_hmac <> all ($3::text[]))::int where ${isValid}
         returning code_hmac = any ($3::text[]) as "isRight"`,
        keyOf(owner, code),
      );
      if (!tried) return 'ended';
      return tried.isRight ? 'right' : 'wrong';
    },

    /** Each code works once. Returns false if it no longer works. */
    async consume(owner: CodeOwner, code: string, on: Queryable = db): Promise<boolean> {
      const used = await query(
        on,
        `delete from confirmation_code where ${isValid} and code_hmac = any ($3::text[]) returning 1 as done`,
        keyOf(owner, code),
      );
      return used.length > 0;
    },
  };
}
