// Reads and writes the rows of accounts for their records.
import { createReads, type Stored } from '@bay-booking/records/record';
import {
  errorCode,
  jsonText,
  type Queryable,
  query,
  queryOne,
  type Transaction,
} from '@bay-booking/service/database/database';
import { isoTime, withoutNulls } from '../audit/store.ts';
import { lockout } from '../config.ts';
import { accountCounter } from '../guard/failures-store.ts';
import { canonicalName } from '../input/username.ts';
import type { AccountInput } from './record-schema.ts';
import { membershipsOfAccount } from './store.ts';

type Profile = 'id' | 'username' | 'emailVerified' | 'kind' | 'roles' | 'disabled' | 'memberships';
/** The memberships are in the order of the facilities' ids. */
export type AccountRow = Required<Pick<AccountInput, Profile>> &
  Readonly<Record<'name' | 'email' | 'passwordHash', string | null>>;

export const recordColumns = `a.id, a.username, a.name, a.email, a.email_verified as "emailVerified", a.kind, a.roles,
  a.disabled_at is not null as disabled, a.password_hash as "passwordHash", ${membershipsOfAccount} as memberships`;
/** As of `nameKey` in guard/keys.ts. */
const failuresKey = `'${accountCounter}:'
  || translate(encode(sha256(convert_to(a.username_key, 'UTF8')), 'base64'), '+/=', '-_')`;
const lastSignIn = `(select max(e.at) from audit_event e where e.account_id = a.id and e.kind = 'sign-in.succeeded')`;
const rows = {
  columns: recordColumns,
  shown: `json_build_object('secondFactor', (array['none', 'totp', 'passkey', 'both'])[1
      + (exists (select from authenticator_app f where f.account_id = a.id))::int
      + (exists (select from passkey f where f.account_id = a.id))::int * 2],
    'lockedUntil', (select ${isoTime('to_timestamp(g.expire / 1000.0)')} from guard_count g where g.key = ${failuresKey}
       and g.points >= ${lockout.accountFailures} and g.expire > extract(epoch from now()) * 1000),
    'lastSignInAt', ${isoTime(lastSignIn)})`,
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

export const accountRecordOf = ({ passwordHash, ...fields }: AccountRow) => withoutNulls(fields) as AccountInput;
export const readAccount = (account: AccountRow): Stored<AccountInput> => {
  const record = accountRecordOf(account);
  return { record, tagged: [record, account.passwordHash] };
};
export const accountReads = createReads(rows, readAccount);
export const selectAccounts = (on: Queryable, ids: readonly string[]) =>
  query<AccountRow>(on, `select ${recordColumns} from account a where a.id = any ($1)`, [ids]);

export const findAccount = (on: Queryable, name: string) =>
  queryOne<AccountRow>(on, `select ${recordColumns} from account a where ${rows.byKey}`, [canonicalName(name)]);

/** Returns the ids of the accounts whose user name another account has. */
export async function findTakenUsernames(tx: Queryable, accounts: readonly AccountInput[]) {
  const rows = await query<{ id: string }>(
    tx,
    `select w.id from unnest($1::text[], $2::text[]) as w (id, key) join account a on a.username_key = w.key
      where a.id <> w.id`,
    [accounts.map(({ id }) => id), accounts.map(({ username: name }) => canonicalName(name))],
  );
  return new Set(rows.map(({ id }) => id));
}

const accountRecord = `jsonb_to_recordset($1::jsonb) as n (id text, username text, name text, email text,
  "usernameKey" text, "emailKey" text, "emailVerified" boolean, kind text, roles text[], disabled boolean, "passwordHash" text)`;

export async function writeAccounts(tx: Transaction, accounts: readonly AccountRow[]): Promise<void> {
  if (accounts.length === 0) return;
  const records = jsonText(
    accounts.map((account) => ({
      ...account,
      usernameKey: canonicalName(account.username),
      emailKey: account.email === null ? null : canonicalName(account.email),
    })),
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
