// The record account: a person or a service account, with its roles at facilities. Its id never changes.
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import {
  createReads,
  type Entry,
  isWritten,
  type Outcome,
  outcomeOf,
  type Problem,
  problem,
  type RecordKind,
  Stored,
} from '@bay-booking/records/record';
import { text as filterText } from '@bay-booking/records/schemas';
import { jsonText, type Queryable, query, type Transaction } from '@bay-booking/service/database/database';
import { deleteAccountWithin } from '../account/deletion-store.ts';
import { isEmailAddress, textPattern } from '../accounts/field-rules.ts';
import { validateNewPassword } from '../accounts/password-policy.ts';
import { hashPassword, verifyPassword } from '../accounts/passwords.ts';
import { membershipsOfAccount } from '../accounts/store.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { lockout } from '../config.ts';
import { type FacilityRole, type Membership, roleNames } from '../facilities/roles.ts';
import { hasAuthenticatorApp, importAuthenticatorApp } from '../factors/store.ts';
import { accountCounter, forgetFailures } from '../guard/failures-store.ts';
import { createSessionStore } from '../interaction/sign-in/session-store.ts';
import { credentialsSchema, importCredentials, readCredentials, type StoredCredentials } from './credentials.ts';
import { findExisting, line, skipped, storeOperatorEvents } from './outcomes.ts';

export interface Account {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly kind: 'user' | 'service';
  readonly roles: readonly string[];
  readonly disabled: boolean;
  /** In the order of the facilities' ids. */
  readonly memberships: readonly Membership[];
  readonly passwordHash: string | null;
  readonly secondFactor?: 'none' | 'totp' | 'passkey' | 'both';
  readonly lockedUntil?: string | null;
  readonly lastSignInAt?: string | null;
}

/** What a file or a PUT contains. `prepare` adds the last two fields. */
export interface AccountInput extends Partial<Omit<Account, 'id' | 'username' | 'name' | 'email' | 'passwordHash'>> {
  readonly id: string;
  readonly username: string;
  readonly name?: string;
  readonly email?: string;
  readonly password?: string;
  readonly passwordHash?: string;
  readonly totpSecret?: string;
  readonly recoveryCodes?: readonly string[];
  readonly credentials?: StoredCredentials;
  readonly newHash?: string | undefined;
  readonly weakness?: string | undefined;
}

/** A line without spaces at its ends, because the sign-in page removes such spaces from the typed name. */
const username = { ...line, pattern: `^(?!\\s)${textPattern}(?<!\\s)$` } as const;
/** The parameters are limited, because they decide how much memory and time a sign-in takes. */
const argon2id = '^\\$argon2id\\$v=19\\$m=\\d{1,5},t=\\d,p=\\d\\$[A-Za-z0-9+/]{11,}\\$[A-Za-z0-9+/]{22,}$';
const role = { enum: Object.keys(roleNames) as readonly FacilityRole[] } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
const writeOnly = {
  password: { type: 'string', minLength: 1, maxLength: 256, writeOnly: true },
  passwordHash: { type: 'string', maxLength: 512, pattern: argon2id, writeOnly: true },
  // For demos and tests.
  totpSecret: { type: 'string', pattern: '^[A-Z2-7]{16,128}$', writeOnly: true },
  recoveryCodes: { type: 'array', maxItems: 10, items: line, writeOnly: true },
  credentials: credentialsSchema,
} as const;
const readOnly = {
  secondFactor: { enum: ['none', 'totp', 'passkey', 'both'], readOnly: true },
  lockedUntil: { ...nullableTime, readOnly: true, description: 'Until when wrong passwords lock the account out.' },
  lastSignInAt: { ...nullableTime, readOnly: true },
} as const;

const columns = `a.id, a.username, a.name, a.email, a.email_verified as "emailVerified", a.kind, a.roles,
  a.disabled_at is not null as disabled, a.password_hash as "passwordHash", ${membershipsOfAccount} as memberships`;
const isoTime = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
/** As of `nameKey` in guard/keys.ts. */
const failuresKey = `'${accountCounter}:'
  || translate(encode(sha256(convert_to(lower(a.username), 'UTF8')), 'base64'), '+/=', '-_')`;
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
  byKey: 'lower(a.username) = lower($1)',
  conditions: {
    facilityId: `exists (select from membership m where m.account_id = a.id and m.facility_id = {facilityId}
      and ({role}::text is null or m.role = {role}))`,
    role: 'exists (select from membership m where m.account_id = a.id and m.role = {role})',
    disabled: '(a.disabled_at is not null) = {disabled}::boolean',
    email: 'lower(a.email) = lower({email})',
  },
};

/** Without the fields that only responses have. */
const recordOf = ({ id, username, name, email, emailVerified, kind, roles, disabled, memberships }: Account) =>
  ({
    id,
    username,
    ...(name !== null && { name }),
    ...(email !== null && { email }),
    emailVerified,
    kind,
    roles,
    disabled,
    // jsonb has another order of fields.
    memberships: memberships.map(({ facilityId, role: given }) => ({ facilityId, role: given })),
  }) as AccountInput;
const read = (account: Account) => new Stored(recordOf(account), [recordOf(account), account.passwordHash]);
/** With the fields that only responses have. */
function respond(account: Account): Stored<AccountInput> {
  const { passwordHash, secondFactor = 'none', lockedUntil = null, lastSignInAt = null } = account;
  const record = recordOf(account);
  return new Stored({ ...record, secondFactor, lockedUntil, lastSignInAt }, [record, passwordHash]);
}
const reads = createReads(rows, respond);

const select = (on: Queryable, ids: readonly string[]) =>
  query<Account>(on, `select ${columns} from account a where a.id = any ($1)`, [ids]);

export async function findAccount(on: Queryable, name: string): Promise<Account | undefined> {
  const byName = `select ${moreColumns} from account a where ${rows.byKey}`;
  return (await query<Account>(on, byName, [name]))[0];
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

export function createAccountKind(encryptionKeys: readonly Buffer[] | undefined): RecordKind<AccountInput> {
  const isNewApp = async (on: Queryable, { id, totpSecret: secret }: AccountInput): Promise<boolean> =>
    secret !== undefined &&
    encryptionKeys !== undefined &&
    !(await hasAuthenticatorApp(on, id, { secret, recoveryCodes: [], encryptionKeys }));
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
    schema: {
      type: 'object',
      required: ['id', 'username'],
      additionalProperties: false,
      properties: {
        id: line,
        username,
        name: { ...line, maxLength: 100 },
        email: { ...line, maxLength: 254 },
        emailVerified: { type: 'boolean' },
        kind: { enum: ['user', 'service'] },
        roles: { type: 'array', maxItems: 100, items: line },
        disabled: { type: 'boolean' },
        memberships: {
          type: 'array',
          items: {
            type: 'object',
            required: ['facilityId', 'role'],
            additionalProperties: false,
            properties: { facilityId: line, role },
          },
        },
        ...writeOnly,
        ...readOnly,
      },
    },
    unique: { id: String, username: (name) => name.toLowerCase() },
    filters: {
      facilityId: { ...filterText, description: 'Accounts with a role at this facility.' },
      role: { ...role, description: 'Accounts with this role, at the facility if one is named.' },
      disabled: { type: 'boolean', description: 'Whether the accounts are disabled.' },
      email: { ...filterText, description: 'Accounts with this e-mail address.' },
    },
    notes: {
      put: 'The password and the kind stay if they are left out. A new password ends the sessions, grants and the lock-out.',
      remove: 'Ends its sessions, grants and tokens. Its id is never used again. The only owner of a facility stays.',
    },
    check: checkAccount,

    ...reads,
    readAll: async (on, { credentials: which }) => {
      const accounts = await query<Account>(on, `select ${columns} from account a order by a.username, a.id`);
      if (which !== 'hashed') return accounts.map(recordOf);
      const credentials = await readCredentials(on);
      return accounts.map((account) => ({
        ...recordOf(account),
        ...(account.passwordHash !== null && { passwordHash: account.passwordHash }),
        ...(credentials.has(account.id) && { credentials: credentials.get(account.id) as StoredCredentials }),
      }));
    },

    withKey: async (on, name, body) => {
      const current = await findAccount(on, name);
      const given = body.username;
      const isSame = given === undefined || String(given).toLowerCase() === name.toLowerCase();
      return {
        record: {
          ...body,
          username: given ?? current?.username ?? name,
          id: body.id ?? current?.id ?? `acc-${randomBytes(12).toString('base64url')}`,
        },
        problems: isSame ? [] : [problem('/username', 'invalid', 'must be that of the URL')],
      };
    },

    async prepare(db, records) {
      const ids = records.map(({ id }) => id);
      const stored = new Map((await select(db, ids)).map((row) => [row.id, row.passwordHash]));
      const prepared: AccountInput[] = [];
      // Only a few passwords wait to be hashed at a time, so that people can sign in during an import.
      for (let start = 0; start < records.length; start += 4)
        prepared.push(
          ...(await Promise.all(records.slice(start, start + 4).map((r) => withHash(r, stored.get(r.id) ?? null)))),
        );
      return prepared;
    },

    async upsert(tx, records, context) {
      const ids = records.map(({ id }) => id);
      const facilityIds = records.flatMap(({ memberships = [] }) => memberships.map(({ facilityId }) => facilityId));
      await lockMembers(tx, ids, facilityIds);
      const stored = new Map((await select(tx, ids)).map((row) => [row.id, row]));
      const facilities = await findExisting(tx, 'facility', facilityIds);
      const deleted = await findExisting(tx, 'deleted_account', ids);
      const taken = await findTakenUsernames(
        tx,
        records.filter(({ id }) => !deleted.has(id)),
      );
      const keep = context.missing === 'keep';
      const compared = await Promise.all(
        records.map(async (record) => {
          const before = stored.get(record.id);
          const after = complete(record, before, keep);
          const { memberships = [], weakness } = record;
          const problems: Problem[] = [];
          if (weakness !== undefined) problems.push(problem('/password', 'invalid', weakness));
          // A file that still contains a deleted account must not stop working.
          const isSkipped = keep && deleted.has(record.id);
          if (deleted.has(record.id) && !keep)
            problems.push(problem('/id', 'invalid', 'belongs to an account that was deleted'));
          if (taken.has(record.id)) problems.push(problem('/username', 'invalid', 'belongs to another account'));
          if (!encryptionKeys && record.totpSecret !== undefined)
            problems.push(problem('/totpSecret', 'invalid', 'needs KEY_ENCRYPTION_KEY'));
          for (const [index, { facilityId }] of memberships.entries())
            if (!facilities.has(facilityId) && !context.hasErrors('facility', facilityId))
              problems.push(
                problem(`/memberships/${index}/facilityId`, 'invalid', `there is no facility ${facilityId}`),
              );
          const secrets = [
            ...((before?.passwordHash ?? null) === after.passwordHash ? [] : ['password']),
            ...((await isNewApp(tx, record)) ? ['totpSecret'] : []),
            ...(record.credentials && !before ? ['credentials'] : []),
          ];
          const outcome = outcomeOf(before && read(before), read(after), problems, secrets);
          return { record, before, after, outcome: isSkipped ? { ...outcome, ...skipped } : outcome };
        }),
      );
      // A facility may be a record with errors, so that nothing is committed.
      const hasFacilities = ({ record: { memberships = [] } }: { readonly record: AccountInput }) =>
        memberships.every(({ facilityId }) => facilities.has(facilityId));
      const written = compared.filter((one) => isWritten(one.outcome, context) && hasFacilities(one));
      const lost = await writeAccounts(tx, written);
      for (const { before, after, outcome, record } of written) {
        const { changed } = outcome;
        const newPassword = before !== undefined && changed.includes('password');
        if (newPassword || (before && after.disabled && !before.disabled)) await endAccess(tx, after, { newPassword });
        if (changed.includes('totpSecret')) {
          const { totpSecret: secret = '', recoveryCodes = [] } = record;
          await importAuthenticatorApp(tx, after.id, { secret, recoveryCodes, encryptionKeys: encryptionKeys ?? [] });
        }
        if (changed.includes('credentials')) await importCredentials(tx, after.id, record.credentials);
      }
      await storeOperatorEvents(tx, context, written.flatMap(eventsOf));
      const late = problem('/username', 'invalid', 'belongs to another account');
      return compared.map(({ outcome, after }) => (lost.has(after.id) ? { ...outcome, problems: [late] } : outcome));
    },

    // After all batches, because a file may give the ownership to an account of a later batch.
    async verify(tx, outcomes) {
      const lost = outcomes.map(({ before, after }) =>
        membershipChanges(before?.record, after.record).flatMap(({ facilityId, from }) =>
          from === 'owner' ? [facilityId] : [],
        ),
      );
      const ownerless = await findWithoutOwner(tx, [...new Set(lost.flat())]);
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

const noOwner = (pointer: string, facilityId: string): Problem =>
  problem(pointer, 'conflict', `facility ${facilityId} would have no owner`, {
    code: 'MEMBER00001',
    contextData: { facilityId },
  });

function checkAccount({ email, memberships }: Entry): readonly Problem[] {
  const problems: Problem[] = [];
  if (typeof email === 'string' && email !== '' && !isEmailAddress(email))
    problems.push(problem('/email', 'invalid', 'must be an e-mail address'));
  const seen = new Map<unknown, number>();
  for (const [index, membership] of (Array.isArray(memberships) ? memberships : []).entries()) {
    const id = (membership as Membership | null)?.facilityId;
    const first = seen.get(id);
    if (first === undefined || id === undefined) seen.set(id, index);
    else
      problems.push(
        problem(`/memberships/${index}/facilityId`, 'duplicate', `is the same as /memberships/${first}/facilityId`),
      );
  }
  return problems;
}

/** A password that is already stored needs no new hash, and is not judged again. */
async function withHash(record: AccountInput, stored: string | null): Promise<AccountInput> {
  const { password, username: name = '', email = '', name: person = '' } = record;
  if (password === undefined) return record;
  if (stored !== null && (await verifyPassword(stored, password))) return { ...record, newHash: stored };
  const weakness = await validateNewPassword(password, [name, email, person]);
  await setImmediate();
  return weakness === undefined ? { ...record, newHash: await hashPassword(password) } : { ...record, weakness };
}

/** The kind stays in a PUT too. */
function complete(record: AccountInput, stored: Account | undefined, keep: boolean): Account {
  const kept: Partial<Account> = keep ? (stored ?? {}) : {};
  const { id, username: name_, name = kept.name ?? null, email = kept.email ?? null } = record;
  const isSameEmail = email?.toLowerCase() === kept.email?.toLowerCase();
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
async function findTakenUsernames(tx: Queryable, accounts: readonly AccountInput[]): Promise<ReadonlySet<string>> {
  if (accounts.length === 0) return new Set();
  const rows = await query<{ id: string }>(
    tx,
    `with wanted as (select * from unnest($1::text[], $2::text[]) as w (id, username))
     select w.id from wanted w join account a on lower(a.username) = lower(w.username) and a.id <> w.id
      where not exists (select from wanted o where o.id = a.id and lower(o.username) <> lower(a.username))`,
    [accounts.map(({ id }) => id), accounts.map((account) => account.username)],
  );
  return new Set(rows.map(({ id }) => id));
}

interface AccountChange {
  readonly before: Account | undefined;
  readonly after: Account;
}

const accountRecord = `jsonb_to_recordset($1::jsonb) as n (id text, username text, name text, email text,
  "emailVerified" boolean, kind text, roles jsonb, disabled boolean, "passwordHash" text)`;
const rolesOfRecord = 'array(select jsonb_array_elements_text(n.roles))';

/** Returns the ids of the accounts that were not written, because a registration took their user name meanwhile. */
async function writeAccounts(tx: Transaction, changes: readonly AccountChange[]): Promise<ReadonlySet<string>> {
  if (changes.length === 0) return new Set();
  const records = jsonText(changes.map(({ after }) => after));
  // Otherwise, two accounts could not exchange their user names, which must be unique at any time.
  await query(
    tx,
    `update account a set username = 'given up by ' || a.id from ${accountRecord}
      where n.id = a.id and lower(n.username) <> lower(a.username)`,
    [records],
  );
  const written = await query<{ id: string }>(
    tx,
    `with updated as (
       update account a set username = n.username, name = n.name, email = n.email, email_verified = n."emailVerified",
              -- The time at which the current address became verified.
              email_proven_at = case
                when not n."emailVerified" then null
                when a.email_verified and lower(n.email) is not distinct from lower(a.email) then a.email_proven_at
                else now() end,
              kind = n.kind, roles = ${rolesOfRecord}, password_hash = n."passwordHash",
              disabled_at = case when n.disabled then coalesce(a.disabled_at, now()) end, updated_at = now()
         from ${accountRecord} where n.id = a.id returning a.id),
     inserted as (
       insert into account (id, username, name, email, email_verified, kind, roles, password_hash, email_proven_at,
                            disabled_at)
       select n.id, n.username, n.name, n.email, n."emailVerified", n.kind, ${rolesOfRecord}, n."passwordHash",
              case when n."emailVerified" then now() end, case when n.disabled then now() end
         from ${accountRecord} where not exists (select from account a where a.id = n.id)
       on conflict do nothing returning id)
     select id from updated union all select id from inserted`,
    [records],
  );
  const ids = new Set(written.map(({ id }) => id));
  await writeMemberships(
    tx,
    changes.filter(({ after }) => ids.has(after.id)),
  );
  return new Set(changes.map(({ after }) => after.id).filter((id) => !ids.has(id)));
}

type Members = Pick<AccountInput, 'id' | 'memberships'> | undefined;
type MembershipChange = ReturnType<typeof membershipChanges>[number];

/** A role is undefined if the account had or has none at the facility. */
function membershipChanges(before: Members, after: Members) {
  const roles = (account: Members) =>
    new Map(account?.memberships?.map(({ facilityId, role: given }) => [facilityId, given]));
  const [old, current] = [roles(before), roles(after)];
  return [...new Set([...current.keys(), ...old.keys()])]
    .map((facilityId) => ({ facilityId, from: old.get(facilityId), to: current.get(facilityId) }))
    .filter(({ from, to }) => from !== to);
}

async function writeMemberships(tx: Queryable, changes: readonly AccountChange[]): Promise<void> {
  const ofAccount = ({ before, after }: AccountChange) =>
    membershipChanges(before, after).map((change) => ({ ...change, accountId: after.id }));
  const records = jsonText(changes.flatMap(ofAccount));
  const record = 'jsonb_to_recordset($1::jsonb) as r ("facilityId" text, "accountId" text, "from" text, "to" text)';
  await query(
    tx,
    `delete from membership m using ${record}
      where m.facility_id = r."facilityId" and m.account_id = r."accountId" and r."to" is null`,
    [records],
  );
  // The same rule as in portal/members/member-store.ts: whoever loses a right loses the invitations made with it.
  await query(
    tx,
    `update invitation i set withdrawn_at = now() from ${record}
      where i.facility_id = r."facilityId" and i.invited_by = r."accountId" and i.accepted_at is null
        and i.withdrawn_at is null and r."from" in ('owner', 'staff') and r."to" is distinct from 'owner'
        and (r."to" is distinct from 'staff' or i.role = 'staff')`,
    [records],
  );
  await query(
    tx,
    `insert into membership (facility_id, account_id, role)
     select r."facilityId", r."accountId", r."to" from ${record} where r."to" is not null
     on conflict (facility_id, account_id) do update set role = excluded.role`,
    [records],
  );
}

/** Returns the facilities among `ids` without an owner who can sign in. */
async function findWithoutOwner(tx: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await query<{ id: string }>(
    tx,
    `select f.id from unnest($1::text[]) as f (id) where not exists (
       select from membership m join account a on a.id = m.account_id
        where m.facility_id = f.id and m.role = 'owner' and a.disabled_at is null)`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}

function eventsOf({
  before,
  after,
  outcome: { changed },
}: AccountChange & { readonly outcome: Pick<Outcome, 'changed'> }): AuditEvent[] {
  const accountId = after.id;
  const isSwitched = (before?.disabled ?? false) !== after.disabled;
  const others = changed.filter((field) => !isSwitched || field !== 'disabled');
  const write = { kind: before ? 'account.changed' : 'account.created', accountId, detail: { changed: others } };
  const kind = after.disabled ? 'account.disabled' : 'account.enabled';
  return [
    ...(others.length > 0 ? [write] : []),
    ...(isSwitched ? [{ kind, accountId, detail: { changed: ['disabled'] } }] : []),
    ...membershipChanges(before, after).map((change) => membershipEvent(change, after)),
  ];
}

/** The history of the facility shows it. As there, `accountId` would be the account that makes the change. */
function membershipEvent({ facilityId, from, to }: MembershipChange, { id, name, username }: Account): AuditEvent {
  const common = { changed: ['memberships'], account: id, name: name ?? username };
  if (from === undefined) return { kind: 'membership.added', facilityId, detail: { ...common, role: to } };
  if (to === undefined) return { kind: 'membership.revoked', facilityId, detail: { ...common, role: from } };
  return { kind: 'membership.role-changed', facilityId, detail: { ...common, from, to } };
}
