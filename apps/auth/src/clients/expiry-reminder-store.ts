// Sends an e-mail to the owner of a service account 14 and 3 days before one of its personal access tokens expires.
import { type Database, query, transaction } from '@bay-booking/service/database/database';
import { emailAddressOf, nameInEmail } from '../accounts/account-emails.ts';
import type { Account } from '../accounts/store.ts';
import { expiringTokenEmail } from '../outbox/email-templates.ts';
import type { Mailer } from '../outbox/mailer.ts';
import { isActiveClient, lifetimeBegan } from './store.ts';

interface ExpiringToken extends Pick<Account, 'name' | 'username' | 'email' | 'emailVerified'> {
  readonly id: string;
  readonly accountId: string;
  readonly tokenName: string | null;
  readonly expiresAt: Date;
}

const days = [3, 14] as const;
const batchSize = 100;

/** Resolves to true if there may be more. The e-mail is stored in the transaction that marks the token. */
export async function sendExpiryReminders(db: Database, mailer: Mailer, issuer: string): Promise<boolean> {
  for (const daysBefore of days) {
    const count = await transaction(db, async (tx) => {
      const tokens = await query<ExpiringToken>(
        tx,
        // A token that was created for a shorter time gets no such e-mail.
        `with due as (
           select c.id from client c join account a on a.id = c.account_id and a.disabled_at is null
            where ${isActiveClient} and c.expires_at <= now() + make_interval(days => $1)
              and ${lifetimeBegan} < c.expires_at - make_interval(days => $1)
              and coalesce(c.expiry_reminder, 1000) > $1
            order by c.expires_at limit ${batchSize} for update of c skip locked)
         update client c set expiry_reminder = $1 from due, account a
          where c.id = due.id and a.id = c.account_id
         returning c.id, c.name as "tokenName", a.id as "accountId", a.name, a.username, a.email,
                   a.email_verified as "emailVerified", c.expires_at as "expiresAt"`,
        [daysBefore],
      );
      for (const { id, accountId, tokenName, expiresAt, ...account } of tokens) {
        const to = emailAddressOf(account);
        if (!to) continue;
        const recipient = { to, name: nameInEmail(account), link: `${issuer}/portal` };
        const name = nameInEmail({ ...account, name: tokenName }) || id;
        await mailer.enqueue({ ...expiringTokenEmail(recipient, { name, expiresAt }), accountId }, tx);
      }
      return tokens.length;
    });
    if (count === batchSize) return true;
  }
  return false;
}
