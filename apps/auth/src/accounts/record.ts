// The record account: a person or a service account, with its roles at facilities. Its id never changes.
import { setImmediate } from 'node:timers/promises';
import { hasFormat, isInvisible, textFormats, textSchema } from '@bay-booking/common/text';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import { createRepetitionFinder, outcomeOf, type RecordKind, type RecordOutcome } from '@bay-booking/records/record';
import type { Queryable, Transaction } from '@bay-booking/service/database/database';
import pLimit from 'p-limit';
import { type AuditEvent, findDeleted, findMissing, skipped, storeOperatorEvents } from '../audit/store.ts';
import { findWithoutOwner, lockMembers, writeMemberships } from '../facilities/membership-store.ts';
import { isEmailAddress } from '../input/field-rules.ts';
import { canonicalName, lookalikeIn, readName } from '../input/username.ts';
import { deleteAccountWithin } from './deletion-store.ts';
import { endAccess } from './end-access-store.ts';
import { validateNewPassword } from './password-policy.ts';
import { hashPassword, verifyPassword } from './passwords.ts';
import {
  type AccountInput,
  type AccountRow,
  accountSchema,
  completeAccount,
  createAccountReads,
  findAccount,
  findTakenUsernames,
  readAccount,
  role,
  selectAccounts,
  writeAccounts,
} from './record-store.ts';
import { newAccountId } from './store.ts';

/** The factors of accounts, which are a subject that builds on this one. */
export interface AccountCredentials {
  /** The SQL of the object `credentials` of the account `a`. */
  readonly column: string;
  readonly prepare: (
    db: Queryable,
    account: AccountInput,
  ) => Promise<Pick<AccountInput, 'newCodes'> & { readonly problems: readonly PointerError[] }>;
  /** Writes an authenticator app with `newCodes`, and the `credentials` of a new account. */
  readonly write: (tx: Transaction, account: AccountInput, options: { readonly isNew: boolean }) => Promise<void>;
}

/** `record` is as given, and `account` as it is stored. */
type AccountOutcome = RecordOutcome<AccountInput> & { readonly record: AccountInput; readonly account: AccountRow };

export function createAccountKind(credentials: AccountCredentials): RecordKind<AccountInput, AccountOutcome> {
  const reads = createAccountReads(credentials.column);
  return {
    name: 'account',
    collection: 'accounts',
    key: 'username',
    example: {
      id: 'acc-owner-north',
      username: 'owner@north.example',
      name: 'Nora North',
      email: 'owner@north.example',
      emailVerified: true,
      kind: 'user',
      roles: ['range-owner'],
      disabled: false,
      memberships: [{ facilityId: 'fac-north', role: 'owner' }],
    },
    schema: accountSchema,
    unique: { id: String, username: canonicalName },
    filters: {
      facilityId: { ...textSchema, description: 'Accounts with a role at this facility.' },
      role: { ...role, description: 'Accounts with this role, at the facility if one is named.' },
      disabled: { type: 'boolean', description: 'Whether the accounts are disabled.' },
      email: { ...textSchema, description: 'Accounts with this e-mail address.' },
    },
    notes: {
      put: 'The password and the kind stay if they are left out. A new password ends the sessions and the lock-out and revokes the grants.',
      remove:
        'Ends its sessions and revokes its grants and tokens. Its id is never used again. The only owner of a facility stays.',
    },

    find: (on, name) => reads.find(on, canonicalName(name)),
    list: (on, { email, ...filter }, page) =>
      reads.list(on, { ...filter, email: typeof email === 'string' ? canonicalName(email) : undefined }, page),
    readAll: reads.readAll,

    identify: async (on, name) => {
      const { username: key = name, id = newAccountId() }: Partial<AccountRow> = (await findAccount(on, name)) ?? {};
      return { username: key, id };
    },

    async prepare(db, records) {
      const stored = await selectAccounts(db, records);
      // Only a few passwords wait to be hashed at a time, so that people can sign in during an import.
      return pLimit(4).map(records, async (given) => {
        const record = {
          ...given,
          ...(given.username && { username: readName(given.username).shown }),
          ...(given.email && { email: readName(given.email).shown }),
        };
        const { problems, ...codes } = await credentials.prepare(db, record);
        const { weakness, ...hash } = await hashNew(record, stored.get(record.id)?.passwordHash ?? null);
        const weak = weakness === undefined ? [] : [atPointer('/password', 'invalid', weakness)];
        return { record: { ...record, ...hash, ...codes }, problems: [...checkAccount(record), ...problems, ...weak] };
      });
    },

    async compare(tx, records, { keepsOmitted }) {
      const ids = records.map(({ id }) => id);
      const facilityIds = records.flatMap(({ memberships = [] }) => memberships.map(({ facilityId }) => facilityId));
      await lockMembers(tx, ids, facilityIds);
      const stored = await selectAccounts(tx, records);
      const missing = await findMissing(tx, 'facility', facilityIds);
      const deleted = await findDeleted(tx, 'account', ids);
      const taken = await findTakenUsernames(tx, records);
      return records.map((record) => {
        const before = stored.get(record.id);
        const account = completeAccount(record, before, keepsOmitted);
        const { memberships = [] } = record;
        const isDeleted = deleted.has(record.id);
        const problems = [
          isDeleted && atPointer('/id', 'invalid', 'belongs to an account that was deleted'),
          !isDeleted && taken.has(record.id) && atPointer('/username', 'invalid', 'belongs to another account'),
          ...memberships.map(
            ({ facilityId: id }, index) =>
              missing.has(id) && atPointer(`/memberships/${index}/facilityId`, 'invalid', `there is no facility ${id}`),
          ),
        ].filter((found) => found !== false);
        const secrets = [
          ...((before?.passwordHash ?? null) === account.passwordHash ? [] : ['password']),
          ...(record.newCodes ? ['totpSecret'] : []),
          ...(record.credentials && !before ? ['credentials'] : []),
        ];
        const outcome = outcomeOf(before && readAccount(before), readAccount(account).record, problems, secrets);
        // A file that still contains a deleted account must not stop working.
        return { ...outcome, ...(isDeleted && keepsOmitted && skipped), record, account };
      });
    },

    async write(tx, outcomes, context) {
      const accounts = outcomes.map(({ account }) => account);
      await writeAccounts(tx, accounts);
      await writeMemberships(tx, outcomes.flatMap(membershipChanges));
      for (const { before, account, changed, record } of outcomes) {
        const newPassword = before !== undefined && changed.includes('password');
        const isDisabled = before !== undefined && account.disabled && changed.includes('disabled');
        if (newPassword || isDisabled) await endAccess(tx, account, { newPassword });
        await credentials.write(tx, record, { isNew: before === undefined });
      }
      await storeOperatorEvents(tx, context, outcomes.flatMap(eventsOf));
    },

    // A file may give the ownership to an account of a later batch.
    async verify(tx, outcomes) {
      const lost = outcomes.map((outcome) =>
        membershipChanges(outcome).flatMap(({ facilityId, from }) => (from === 'owner' ? [facilityId] : [])),
      );
      const ownerless = await findWithoutOwner(tx, lost.flat());
      return lost.map((ids) => ids.filter((id) => ownerless.has(id)).map((id) => noOwner('/memberships', id)));
    },

    async remove(tx, { id }, context) {
      const outcome = await deleteAccountWithin(tx, id);
      if (typeof outcome === 'object') return noOwner('', outcome.facilities[0]?.id ?? '');
      await storeOperatorEvents(tx, context, [{ kind: 'account.deleted', accountId: id }]);
      return undefined;
    },
  };
}

const noOwner = (pointer: string, facilityId: string): PointerError =>
  atPointer(pointer, 'conflict', `facility ${facilityId} would have no owner`, {
    code: 'MEMBER00001',
    contextData: { facilityId },
  });

function checkAccount(account: Partial<AccountInput>): readonly PointerError[] {
  const { username: name, email, memberships = [] } = account;
  const findRepeated = createRepetitionFinder();
  const lookalike = name !== undefined && lookalikeIn(name);
  const isWrong = email !== undefined && !isEmailAddress(email);
  // URLs of the management API contain the user name.
  const fitsIntoPath = name === undefined || hasFormat('id', name);
  return [
    ...(fitsIntoPath ? [] : [atPointer('/username', 'invalid', textFormats.id.hint)]),
    ...(lookalike ? [atPointer('/username', 'invalid', `replace ${lookalike} with ordinary letters or digits`)] : []),
    ...(isInvisible(name ?? 'none') ? [atPointer('/username', 'invalid', 'has only invisible characters')] : []),
    ...(isWrong ? [atPointer('/email', 'invalid', 'must be an e-mail address')] : []),
    ...memberships.flatMap(({ facilityId }, index) => findRepeated(`/memberships/${index}/facilityId`, facilityId)),
  ];
}

/** A password that is already stored needs no new hash, and is not judged again. */
async function hashNew(record: AccountInput, stored: string | null): Promise<{ newHash?: string; weakness?: string }> {
  const { password, username: name = '', email = '', name: person = '' }: Partial<AccountInput> = record;
  if (password === undefined) return {};
  if (stored !== null && (await verifyPassword(stored, password))) return { newHash: stored };
  const weakness = await validateNewPassword(password, [name, email, person]);
  await setImmediate();
  return weakness === undefined ? { newHash: await hashPassword(password) } : { weakness };
}

/** A role is undefined if the account had or has none at the facility. */
function membershipChanges({ before, after }: Pick<RecordOutcome<AccountInput>, 'before' | 'after'>) {
  const roles = (account: AccountInput | undefined) =>
    new Map(account?.memberships?.map(({ facilityId, role: given }) => [facilityId, given]));
  const [old, current] = [roles(before?.record), roles(after)];
  const { id: accountId } = after;
  return [...new Set([...current.keys(), ...old.keys()])]
    .map((facilityId) => ({ facilityId, accountId, from: old.get(facilityId), to: current.get(facilityId) }))
    .filter(({ from, to }) => from !== to);
}

function eventsOf(outcome: RecordOutcome<AccountInput>): AuditEvent[] {
  const { before, after, changed } = outcome;
  const { id: accountId, disabled = false } = after;
  const isSwitched = (before?.record.disabled ?? false) !== disabled;
  const others = changed.filter((field) => !isSwitched || field !== 'disabled');
  const write = { kind: before ? 'account.changed' : 'account.created', accountId, detail: { changed: others } };
  const kind = disabled ? 'account.disabled' : 'account.enabled';
  return [
    ...(others.length > 0 ? [write] : []),
    ...(isSwitched ? [{ kind, accountId, detail: { changed: ['disabled'] } }] : []),
    ...membershipChanges(outcome).map((change) => membershipEvent(change, after)),
  ];
}

/** The history of the facility shows it. As there, `accountId` would be the account that makes the change. */
function membershipEvent(
  { facilityId, from, to }: ReturnType<typeof membershipChanges>[number],
  { id, username: fallback, name = fallback }: AccountInput,
): AuditEvent {
  const common = { changed: ['memberships'], account: id, name };
  if (from === undefined) return { kind: 'membership.added', facilityId, detail: { ...common, role: to } };
  if (to === undefined) return { kind: 'membership.revoked', facilityId, detail: { ...common, role: from } };
  return { kind: 'membership.role-changed', facilityId, detail: { ...common, from, to } };
}
