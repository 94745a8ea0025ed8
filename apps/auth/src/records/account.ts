// The record account: a person or a service account, with its roles at facilities. Its id never changes.
import { setImmediate } from 'node:timers/promises';
import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import {
  createReads,
  type Entry,
  findRepeated,
  type Outcome,
  outcomeOf,
  type RecordKind,
  Stored,
  toWrite,
} from '@bay-booking/records/record';
import { errorCode, jsonText, type Queryable, query, type Transaction } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import pLimit from 'p-limit';
import { deleteAccountWithin } from '../account/deletion-store.ts';
import { isEmailAddress } from '../accounts/field-rules.ts';
import { validateNewPassword } from '../accounts/password-policy.ts';
import { hashPassword, verifyPassword } from '../accounts/passwords.ts';
import { membershipsOfAccount, newAccountId } from '../accounts/store.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { lockout } from '../config.ts';
import { type FacilityRole, roleNames } from '../facilities/roles.ts';
import { type HashedCodes, hashRecoveryCodes } from '../factors/codes.ts';
import { hasAuthenticatorApp, importAuthenticatorApp } from '../factors/store.ts';
import { accountCounter, forgetFailures } from '../guard/failures-store.ts';
import { canonicalName, lookalikeIn } from '../input/username.ts';
import { createSessionStore } from '../interaction/sign-in/session-store.ts';
import { withdrawInvitations } from '../portal/members/member-store.ts';
import {
  credentialsOfAccount,
  credentialsSchema,
  findUnusable,
  importCredentials,
  passwordHash,
  type StoredCredentials,
} from './credentials.ts';
import { findDeleted, findMissing, isoTime, skipped, storeOperatorEvents, withoutNulls } from './outcomes.ts';

/** A line without spaces at its ends, because the sign-in page removes such spaces from the typed name. */
const username = { ...idSchema, pattern: '^\\S(?:.*\\S)?$' } as const;
const role = { enum: Object.keys(roleNames) as readonly FacilityRole[] } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
const schema = {
  type: 'object',
  required: ['id', 'username'],
  additionalProperties: false,
  properties: {
    id: idSchema,
    username,
    name: { ...nameSchema, maxLength: 100 },
    email: { ...textSchema, maxLength: 254 },
    emailVerified: { type: 'boolean' },
    kind: { enum: ['user', 'service'] },
    roles: { type: 'array', maxItems: 100, items: textSchema },
    disabled: { type: 'boolean' },
    memberships: {
      type: 'array',
      items: {
        type: 'object',
        required: ['facilityId', 'role'],
        additionalProperties: false,
        properties: { facilityId: textSchema, role },
      },
    },
    password: { type: 'string', minLength: 1, maxLength: 256, writeOnly: true },
    passwordHash: { ...passwordHash, writeOnly: true },
    // For demos and tests.
    totpSecret: { type: 'string', pattern: '^[A-Z2-7]{16,128}$', writeOnly: true },
    recoveryCodes: { type: 'array', maxItems: 10, items: textSchema, writeOnly: true },
    credentials: credentialsSchema,
    secondFactor: { enum: ['none', 'totp', 'passkey', 'both'], readOnly: true },
    lockedUntil: { ...nullableTime, readOnly: true, description: 'Until when wrong passwords lock the account out.' },
    lastSignInAt: { ...nullableTime, readOnly: true },
  },
} as const;

/** `prepare` adds the last two fields. Only a new authenticator app has `newCodes`. */
export type AccountInput = FromSchema<typeof schema> & { newHash?: string; newCodes?: HashedCodes };
type Profile = 'id' | 'username' | 'emailVerified' | 'kind' | 'roles' | 'disabled' | 'memberships';
/** The memberships are in the order of the facilities' ids. */
export type Account = Required<Pick<AccountInput, Profile>> &
  Readonly<Record<'name' | 'email' | 'passwordHash', string | null>>;
type AccountState = Required<Pick<AccountInput, 'secondFactor' | 'lockedUntil' | 'lastSignInAt'>>;

const columns = `a.id, a.username, a.name, a.email, a.email_verified as "emailVerified", a.kind, a.roles,
  a.disabled_at is not null as disabled, a.password_hash as "passwordHash", ${membershipsOfAccount} as memberships`;
/** As of `nameKey` in guard/keys.ts. */
const failuresKey = `'${accountCounter}:'
  || translate(encode(sha256(convert_to(a.username_key, 'UTF8')), 'base64'), '+/=', '-_')`;
/** Only responses have them. */
const moreColumns = `${columns}, (array['none', 'totp', 'passkey', 'both'])[1
    + (exists (select from authenticator_app f where f.account_id = a.id))::int
    + (exists (select from passkey f where f.account_id = a.id))::int * 2] as "secondFactor",
  ${isoTime(`(select max(e.at) from audit_event e where e.account_id = a.id and e.kind = 'sign-in.succeeded')`)}
    as "lastSignInAt",
  (select ${isoTime('to_timestamp(g.expire / 1000.0)')} from guard_count g where g.key = ${failuresKey}
      and g.points >= ${lockout.accountFailures} and g.expire > extract(epoch from now()) * 1000) as "lockedUntil"`;
const rows = {
  columns: moreColumns,
  from: 'from account a where true',
  orderBy: 'a.username, a.id',
  byKey: 'a.username_key = $1',
  conditions: {
    facilityId: `exists (select from membership m where m.account_id = a.id and m.facility_id = {facilityId}
      and ({role}::text is null or m.role = {role}))`,
    role: 'exists (select from membership m where m.account_id = a.id and m.role = {role})',
    disabled: '(a.disabled_at is not null) = {disabled}::boolean',
    email: 'a.email_key = {email}',
  },
};

/** Without the password and the fields that only responses have. */
const recordOf = ({
  passwordHash,
  secondFactor,
  lockedUntil,
  lastSignInAt,
  ...fields
}: Account & Partial<AccountState>) => withoutNulls(fields) as AccountInput;
const read = (account: Account) => new Stored(recordOf(account), [recordOf(account), account.passwordHash]);
const respond = ({ secondFactor, lockedUntil, lastSignInAt, ...account }: Account & AccountState) =>
  new Stored<AccountInput>({ ...recordOf(account), secondFactor, lockedUntil, lastSignInAt }, [
    recordOf(account),
    account.passwordHash,
  ]);

const reads = createReads(rows, respond);
const select = (on: Queryable, ids: readonly string[]) =>
  query<Account>(on, `select ${columns} from account a where a.id = any ($1)`, [ids]);

export async function findAccount(on: Queryable, name: string): Promise<Account | undefined> {
  const byName = `select ${moreColumns} from account a where ${rows.byKey}`;
  return (await query<Account>(on, byName, [canonicalName(name)]))[0];
}

/** Ends what somebody got with the earlier password, and the links with which it could be replaced again. */
export async function endAccess(
  tx: Queryable,
  { id, username: name }: Pick<Account, 'id' | 'username'>,
  { newPassword }: { readonly newPassword: boolean },
): Promise<void> {
  // The running instances of auth send the logout tokens that `endEverything` queues.
  await createSessionStore({ db: tx, sendLogoutTokens: () => {} }).endEverything(id);
  if (!newPassword) return;
  await query(tx, "delete from one_time_link where account_id = $1 and purpose = 'reset-password'", [id]);
  await forgetFailures(tx, name);
}

export function createAccountKind(encryptionKeys: readonly Buffer[] | undefined): RecordKind<AccountInput, AuditEvent> {
  const isNewApp = async (on: Queryable, { id, totpSecret: secret }: AccountInput): Promise<boolean> =>
    secret !== undefined &&
    encryptionKeys !== undefined &&
    !(await hasAuthenticatorApp(on, id, { secret, encryptionKeys }));
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
    schema,
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
    check: checkAccount,

    find: (on, name) => reads.find(on, canonicalName(name)),
    list: (on, { email, ...filter }, page) =>
      reads.list(on, { ...filter, email: typeof email === 'string' ? canonicalName(email) : undefined }, page),
    readAll: async (on, { credentials: which }) => {
      const added = which === 'hashed' ? credentialsOfAccount : 'null';
      const all = `select ${columns}, ${added} as credentials from account a order by a.username, a.id`;
      const accounts = await query<Account & { credentials: StoredCredentials | null }>(on, all);
      return accounts.map(({ credentials, ...account }) => ({
        ...recordOf(account),
        ...(which === 'hashed' && withoutNulls({ passwordHash: account.passwordHash, credentials })),
      }));
    },

    identify: async (on, name) => {
      const { username: key = name, id = newAccountId() }: Partial<Account> = (await findAccount(on, name)) ?? {};
      return { username: key, id };
    },

    async prepare(db, records) {
      const ids = records.map(({ id }) => id);
      const stored = new Map((await select(db, ids)).map((row) => [row.id, row.passwordHash]));
      // Only a few passwords wait to be hashed at a time, so that people can sign in during an import.
      return pLimit(4).map(records, async (record) => {
        const unusable = await findUnusable(record.id, record.credentials ?? {}, encryptionKeys);
        const newCodes = (await isNewApp(db, record)) && (await hashRecoveryCodes(record.recoveryCodes ?? []));
        const { weakness, ...hashed } = await hashNew(record, stored.get(record.id) ?? null);
        const problems = [
          ...unusable,
          ...(weakness === undefined ? [] : [atPointer('/password', 'invalid', weakness)]),
          ...(!encryptionKeys && record.totpSecret !== undefined
            ? [atPointer('/totpSecret', 'invalid', 'needs KEY_ENCRYPTION_KEY')]
            : []),
        ];
        return { record: { ...record, ...hashed, ...(newCodes && { newCodes }) }, problems };
      });
    },

    async upsert(tx, records, context) {
      const ids = records.map(({ id }) => id);
      const facilityIds = records.flatMap(({ memberships = [] }) => memberships.map(({ facilityId }) => facilityId));
      await lockMembers(tx, ids, facilityIds);
      const stored = new Map((await select(tx, ids)).map((row) => [row.id, row]));
      const missing = await findMissing(tx, 'facility', facilityIds);
      const deleted = await findDeleted(tx, 'account', ids);
      const taken = await findTakenUsernames(tx, records);
      const keep = context.missing === 'keep';
      const outcomes = await Promise.all(
        records.map(async (record) => {
          const before = stored.get(record.id);
          const account = complete(record, before, keep);
          const { memberships = [] } = record;
          const isDeleted = deleted.has(record.id);
          const problems = [
            isDeleted && atPointer('/id', 'invalid', 'belongs to an account that was deleted'),
            !isDeleted && taken.has(record.id) && atPointer('/username', 'invalid', 'belongs to another account'),
            ...memberships.map(
              ({ facilityId: id }, index) =>
                missing.has(id) &&
                atPointer(`/memberships/${index}/facilityId`, 'invalid', `there is no facility ${id}`),
            ),
          ].filter((found) => found !== false);
          const secrets = [
            ...((before?.passwordHash ?? null) === account.passwordHash ? [] : ['password']),
            ...(record.newCodes ? ['totpSecret'] : []),
            ...(record.credentials && !before ? ['credentials'] : []),
          ];
          const outcome = outcomeOf(before && read(before), read(account), problems, secrets);
          // A file that still contains a deleted account must not stop working.
          return { ...outcome, ...(isDeleted && keep && skipped), record, account };
        }),
      );
      const written = toWrite(outcomes);
      await writeAccounts(
        tx,
        written.map(({ account }) => account),
      );
      await writeMemberships(tx, written.flatMap(membershipChanges));
      for (const { before, account, changed, record } of written) {
        const newPassword = before !== undefined && changed.includes('password');
        const isDisabled = before !== undefined && account.disabled && changed.includes('disabled');
        if (newPassword || isDisabled) await endAccess(tx, account, { newPassword });
        const { totpSecret: secret = '', newCodes: recoveryCodes } = record;
        if (recoveryCodes)
          await importAuthenticatorApp(tx, record.id, { secret, recoveryCodes, encryptionKeys: encryptionKeys ?? [] });
        if (changed.includes('credentials')) await importCredentials(tx, record.id, record.credentials);
      }
      await storeOperatorEvents(tx, context, written.flatMap(eventsOf));
      return outcomes;
    },

    // A file may give the ownership to an account of a later batch.
    async verify(tx, outcomes) {
      const lost = outcomes.map((outcome) =>
        membershipChanges(outcome).flatMap(({ facilityId, from }) => (from === 'owner' ? [facilityId] : [])),
      );
      const ownerless = await findWithoutOwner(tx, lost.flat());
      return lost.map((ids) => ids.filter((id) => ownerless.has(id)).map((id) => noOwner('/memberships', id)));
    },

    async remove(tx, name, context, check) {
      const account = await findAccount(tx, name);
      if (!account) return 'unknown';
      check(read(account));
      await lockMembers(tx, [account.id], []);
      const outcome = await deleteAccountWithin(tx, account.id);
      if (typeof outcome === 'object') return noOwner('', outcome.facilities[0]?.id ?? '');
      await storeOperatorEvents(tx, context, [{ kind: 'account.deleted', accountId: account.id }]);
      return 'removed';
    },
  };
}

const noOwner = (pointer: string, facilityId: string): PointerError =>
  atPointer(pointer, 'conflict', `facility ${facilityId} would have no owner`, {
    code: 'MEMBER00001',
    contextData: { facilityId },
  });

function checkAccount({ username: name, email, memberships }: Entry): readonly PointerError[] {
  const lookalike = typeof name === 'string' ? lookalikeIn(name) : undefined;
  const isInvisible = typeof name === 'string' && name !== '' && canonicalName(name) === '';
  const isWrong = typeof email === 'string' && email !== '' && !isEmailAddress(email);
  return [
    ...(lookalike ? [atPointer('/username', 'invalid', `replace ${lookalike} with ordinary letters or digits`)] : []),
    ...(isInvisible ? [atPointer('/username', 'invalid', 'has only invisible characters')] : []),
    ...(isWrong ? [atPointer('/email', 'invalid', 'must be an e-mail address')] : []),
    ...findRepeated(memberships, '/memberships', 'facilityId'),
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

/** The kind stays in a PUT too. */
function complete(record: AccountInput, stored: Account | undefined, keep: boolean): Account {
  const kept: Partial<Account> = keep ? (stored ?? {}) : {};
  const { id, username: name_, name = kept.name ?? null, email = kept.email ?? null } = record;
  const isSameEmail = canonicalName(email ?? '') === canonicalName(kept.email ?? '');
  const memberships = record.memberships ?? kept.memberships ?? [];
  return {
    id,
    username: name_,
    name,
    email,
    // A new address is not verified, unless the record says so.
    emailVerified: record.emailVerified ?? (kept.emailVerified === true && isSameEmail),
    kind: record.kind ?? stored?.kind ?? 'user',
    roles: record.roles ?? kept.roles ?? [],
    disabled: record.disabled ?? kept.disabled ?? false,
    memberships: memberships.toSorted((a, b) => (a.facilityId < b.facilityId ? -1 : 1)),
    passwordHash: record.newHash ?? record.passwordHash ?? stored?.passwordHash ?? null,
  };
}

/** The locks that changes of members take (portal/facility-lock-store.ts), then those of the accounts. */
async function lockMembers(tx: Queryable, accountIds: readonly string[], facilityIds: readonly string[]) {
  await query(
    tx,
    `select 1 as locked from facility
      where id = any ($1) or id in (select facility_id from membership where account_id = any ($2))
      order by id for no key update`,
    [facilityIds, accountIds],
  );
  await query(tx, 'select 1 as locked from account where id = any ($1) order by id for update', [accountIds]);
}

/** Returns the ids of the accounts whose user name another account has, unless the import gives that one a new name. */
async function findTakenUsernames(tx: Queryable, accounts: readonly AccountInput[]) {
  const rows = await query<{ id: string }>(
    tx,
    `with wanted as (
       select * from unnest($1::text[], $2::text[]) as w (id, key))
     select w.id from wanted w where exists (
         select from account a where a.username_key = w.key and a.id <> w.id and not exists (
           select from wanted o where o.id = a.id and o.key <> a.username_key))`,
    [accounts.map(({ id }) => id), accounts.map(({ username: name }) => canonicalName(name))],
  );
  return new Set(rows.map(({ id }) => id));
}

const accountRecord = `jsonb_to_recordset($1::jsonb) as n (id text, username text, name text, email text,
  "usernameKey" text, "emailKey" text, "emailVerified" boolean, kind text, roles text[], disabled boolean, "passwordHash" text)`;

async function writeAccounts(tx: Transaction, accounts: readonly Account[]): Promise<void> {
  if (accounts.length === 0) return;
  const records = jsonText(
    accounts.map((account) => ({
      ...account,
      usernameKey: canonicalName(account.username),
      emailKey: account.email === null ? null : canonicalName(account.email),
    })),
  );
  // Otherwise, two accounts could not exchange their user names, which must be unique at any time.
  await query(
    tx,
    `update account a set username_key = 'given up by ' || a.id || ' ' from ${accountRecord}
      where n.id = a.id and n."usernameKey" <> a.username_key`,
    [records],
  );
  await query(
    tx,
    `insert into account as a (id, username, name, email, email_verified, email_proven_at, kind, roles, password_hash,
                               disabled_at, username_key, email_key)
     select n.id, n.username, n.name, n.email, n."emailVerified", case when n."emailVerified" then now() end, n.kind,
            n.roles, n."passwordHash", case when n.disabled then now() end, n."usernameKey", n."emailKey"
       from ${accountRecord}
     on conflict (id) do update set username = excluded.username, username_key = excluded.username_key,
       name = excluded.name, email = excluded.email, email_key = excluded.email_key,
       email_verified = excluded.email_verified,
       -- The time at which the current address became verified.
       email_proven_at = case
         when excluded.email_verified and a.email_verified and excluded.email_key is not distinct from a.email_key
           then a.email_proven_at else excluded.email_proven_at end,
       kind = excluded.kind, roles = excluded.roles, password_hash = excluded.password_hash,
       disabled_at = case when excluded.disabled_at is not null then coalesce(a.disabled_at, now()) end,
       updated_at = now()`,
    [records],
  ).catch((error: unknown) => {
    // A registration took a user name meanwhile. The transaction runs again, and finds that the name is taken.
    throw errorCode(error) === '23505' ? Object.assign(error as object, { code: '40001' }) : error;
  });
}

type MembershipChange = ReturnType<typeof membershipChanges>[number];

/** A role is undefined if the account had or has none at the facility. */
function membershipChanges({ before, after: { record: account } }: Pick<Outcome<AccountInput>, 'before' | 'after'>) {
  const roles = (of: AccountInput | undefined) =>
    new Map(of?.memberships?.map(({ facilityId, role: given }) => [facilityId, given]));
  const [old, current] = [roles(before?.record), roles(account)];
  return [...new Set([...current.keys(), ...old.keys()])]
    .map((facilityId) => ({ facilityId, account, from: old.get(facilityId), to: current.get(facilityId) }))
    .filter(({ from, to }) => from !== to);
}

async function writeMemberships(tx: Queryable, changes: readonly MembershipChange[]): Promise<void> {
  if (changes.length === 0) return;
  const records = jsonText(changes.map(({ account, ...change }) => ({ ...change, accountId: account.id })));
  const record = 'jsonb_to_recordset($1::jsonb) as r ("facilityId" text, "accountId" text, "to" text)';
  await query(
    tx,
    `delete from membership m using ${record}
      where m.facility_id = r."facilityId" and m.account_id = r."accountId" and r."to" is null`,
    [records],
  );
  await query(
    tx,
    `insert into membership (facility_id, account_id, role)
     select r."facilityId", r."accountId", r."to" from ${record} where r."to" is not null
     on conflict (facility_id, account_id) do update set role = excluded.role`,
    [records],
  );
  for (const { facilityId, account, from, to } of changes)
    if ((from === 'owner' || from === 'staff') && to !== 'owner')
      await withdrawInvitations(tx, facilityId, account.id, to === 'staff' ? 'staff' : 'all');
}

/** Returns the facilities among `ids` without an owner who can sign in. */
async function findWithoutOwner(tx: Queryable, ids: readonly string[]) {
  if (ids.length === 0) return new Set<string>();
  const rows = await query<{ id: string }>(
    tx,
    `select f.id from unnest($1::text[]) as f (id) where not exists (
       select from membership m join account a on a.id = m.account_id
        where m.facility_id = f.id and m.role = 'owner' and a.disabled_at is null)`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}

function eventsOf(outcome: Outcome<AccountInput>): AuditEvent[] {
  const { before, after, changed } = outcome;
  const { id: accountId, disabled = false } = after.record;
  const isSwitched = (before?.record.disabled ?? false) !== disabled;
  const others = changed.filter((field) => !isSwitched || field !== 'disabled');
  const write = { kind: before ? 'account.changed' : 'account.created', accountId, detail: { changed: others } };
  const kind = disabled ? 'account.disabled' : 'account.enabled';
  return [
    ...(others.length > 0 ? [write] : []),
    ...(isSwitched ? [{ kind, accountId, detail: { changed: ['disabled'] } }] : []),
    ...membershipChanges(outcome).map(membershipEvent),
  ];
}

/** The history of the facility shows it. As there, `accountId` would be the account that makes the change. */
function membershipEvent({ facilityId, from, to, account }: MembershipChange): AuditEvent {
  const { id, username: fallback, name = fallback } = account;
  const common = { changed: ['memberships'], account: id, name };
  if (from === undefined) return { kind: 'membership.added', facilityId, detail: { ...common, role: to } };
  if (to === undefined) return { kind: 'membership.revoked', facilityId, detail: { ...common, role: from } };
  return { kind: 'membership.role-changed', facilityId, detail: { ...common, from, to } };
}
