// Describes and handles what operators do to accounts besides changing their records.
import type { Endpoint } from '@bay-booking/common/endpoint';
import type { Operator, RecordStore } from '@bay-booking/records/record';
import type { Transaction } from '@bay-booking/service/database/database';
import { emailAddressOf } from '../accounts/account-emails.ts';
import { endEverything } from '../accounts/end-access-store.ts';
import { type AccountRow, findAccount } from '../accounts/record-store.ts';
import { forgetFailures } from '../guard/failures-store.ts';
import { resetFactors } from '../interaction/reset-factors.ts';
import type { Services } from '../services.ts';
import { accountErrors, operatorAction } from './actions.ts';

const { apiError } = accountErrors;

interface AccountAction extends Pick<Endpoint, 'operationId' | 'summary' | 'description'> {
  readonly action: string;
  readonly event: string;
  readonly work: (tx: Transaction, account: AccountRow) => Promise<unknown>;
  /** Called after the commit. */
  readonly after?: (account: AccountRow) => void;
}

export function accountActions(
  store: RecordStore,
  issuer: string,
  { emails, mailer }: Pick<Services, 'emails' | 'mailer'>,
): readonly Endpoint<Operator>[] {
  const changes = operatorAction(store);
  const onAccount = ({ action, event, work, after, ...description }: AccountAction): Endpoint<Operator> =>
    changes({
      ...description,
      method: 'POST',
      path: `/management/accounts/{username}/${action}`,
      work: async (tx, name) => {
        const account = await findAccount(tx, name);
        if (!account) throw apiError('ERR00404');
        await work(tx, account);
        return { events: [{ kind: event, accountId: account.id }], after: after && (() => after(account)) };
      },
    });

  return [
    onAccount({
      action: 'unlock',
      operationId: 'unlockAccount',
      summary: 'Unlock an account',
      description: 'Forgets the failed sign-ins of the account.',
      event: 'account.unlocked',
      work: (tx, account) => forgetFailures(tx, account.username),
    }),
    onAccount({
      action: 'end-sessions',
      operationId: 'endSessions',
      summary: 'Sign an account out everywhere',
      description:
        'Ends its sessions and revokes its grants. The Bookings API rejects their access tokens within 15 s.',
      event: 'account.sessions-ended',
      work: (tx, { id }) => endEverything(tx, id),
    }),
    onAccount({
      action: 'reset-factors',
      operationId: 'resetFactors',
      summary: 'Remove the second factors of an account',
      description: 'For a person who has lost them. Also signs the person out everywhere and sends an e-mail.',
      event: 'factor.reset',
      work: async (tx, account) => {
        const email = await resetFactors(tx, account, issuer);
        if (email) await mailer.enqueue(email, tx);
      },
    }),
    onAccount({
      action: 'send-reset',
      operationId: 'sendPasswordReset',
      summary: 'Send a link to reset the password',
      description: 'The user gets the same mail as from the page. The limits of mails to one address apply.',
      event: 'account.reset-sent',
      work: async (_tx, account) => {
        if (account.disabled || !emailAddressOf(account)) throw apiError('ACCOUNT00001');
      },
      after: (account) => emails.sendReset(account.username, undefined),
    }),
  ];
}
