// Removes the second factors of a person who has lost them and signs the person out everywhere.
import type { Queryable } from '@bay-booking/service/database/database';
import { emailAddressOf, nameInEmail } from '../accounts/account-emails.ts';
import { endEverything } from '../accounts/end-access-store.ts';
import type { Account } from '../accounts/store.ts';
import { deleteFactors } from '../factors/store.ts';
import { factorChangedEmail } from '../outbox/email-templates.ts';

/** Returns the e-mail that tells the person, for the outbox. Undefined if the account has no e-mail address. */
export async function resetFactors(
  tx: Queryable,
  account: Pick<Account, 'id' | 'username' | 'name' | 'email' | 'emailVerified'>,
  issuer: string,
) {
  await deleteFactors(tx, account.id);
  await endEverything(tx, account.id);
  const to = emailAddressOf(account);
  if (to === undefined) return undefined;
  const recipient = { to, name: nameInEmail(account), link: `${issuer}/account/security` };
  return { ...factorChangedEmail(recipient, 'All second factors were removed'), accountId: account.id };
}
