// Defines the fields of the record account: their JSON Schema, their defaults and their rows.
import { responseSchema } from '@bay-booking/common/endpoint';
import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import { createReads, type Stored } from '@bay-booking/records/record';
import {
  errorCode,
  jsonText,
  type Queryable,
  query,
  queryOne,
  type Transaction,
} from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import { isoTime, withoutNulls } from '../audit/store.ts';
import { lockout } from '../config.ts';
import { type FacilityRole, roleNames } from '../facilities/roles.ts';
import { accountCounter } from '../guard/failures-store.ts';
import { canonicalName } from '../input/username.ts';
import { membershipsOfAccount } from './store.ts';

const text = { ...textSchema, maxLength: 2000 } as const;
const base64 = { type: 'string', minLength: 1, maxLength: 2000, format: 'base64' } as const;
const passwordHash = { type: 'string', maxLength: 512, format: 'argon2id' } as const;
const list = <const Item>(items: Item) => ({ type: 'array', maxItems: 50, items }) as const;

/** `export?credentials=hashed` writes it. Only a new account gets it. */
const credentialsSchema = {
  type: 'object',
  writeOnly: true,
  additionalProperties: false,
  properties: {
    authenticatorSecretEncrypted: { ...text, description: 'Encrypted with KEY_ENCRYPTION_KEY.' },
    recoveryCodes: responseSchema({ salt: base64, hashes: list(passwordHash) }),
    passkeys: list(
      responseSchema({ id: text, name: nameSchema, publicKey: base64, transports: { type: 'array', items: text } }),
    ),
    socialIdentities: list(responseSchema({ provider: text, subject: text, email: text }, ['email'])),
  },
} as const;

export const role = { enum: Object.keys(roleNames) as readonly FacilityRole[] } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
export const accountSchema = {
  type: 'object',
  required: ['id', 'username'],
  additionalProperties: false,
  properties: {
    id: idSchema,
    username: { ...textSchema, description: 'Spaces around it and invisible characters are dropped.' },
    name: { ...nameSchema, maxLength: 100 },
    email: { ...textSchema, maxLength: 254 },
    emailVerified: { type: 'boolean' },
    kind: { enum: ['user', 'service'] },
    roles: { type: 'array', maxItems: 100, items: textSchema },
    disabled: { type: 'boolean' },
    memberships: { type: 'array', items: responseSchema({ facilityId: textSchema, role }) },
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
export type AccountInput = FromSchema<typeof accountSchema> & { newHash?: string; newCodes?: HashedCodes };

/** Recovery codes of a second factor. factors/ builds on this folder, so the type stands here. */
export interface HashedCodes {
  readonly salt: Buffer;
  readonly hashes: readonly string[];
}

type Profile = 'id' | 'username' | 'emailVerified' | 'kind' | 'roles' | 'disabled' | 'memberships';
/** The memberships are in the order of the facilities' ids. */
export type AccountRow = Required<Pick<AccountInput, Profile>> &
  Readonly<Record<'name' | 'email' | 'passwordHash', string | null>>;

/** The kind stays in a PUT too. */
export function completeAccount(record: AccountInput, stored: AccountRow | undefined, keep: boolean): AccountRow {
  const kept: Partial<AccountRow> = keep ? (stored ?? {}) : {};
  const { id, username: name_, name = kept.name ?? null, email = kept.email ?? null } = record;
  const isSameEmail = canonicalName(email ?? '') === canonicalName(kept.email ?? '');
  const memberships = record.memberships ?? kept.memberships ?? [];
  return {
    id,
    username: name_,
    name,
    email,
    // A new e-mail address is not verified, unless the record says so.
    emailVerified: record.emailVerified ?? (kept.emailVerified === true && isSameEmail),
    kind: record.kind ?? stored?.kind ?? 'user',
    roles: record.roles ?? kept.roles ?? [],
    disabled: record.disabled ?? kept.disabled ?? false,
    memberships: memberships.toSorted((a, b) => (a.facilityId < b.facilityId ? -1 : 1)),
    passwordHash: record.newHash ?? record.passwordHash ?? stored?.passwordHash ?? null,
  };
}

const columns = `a.id, a.username, a.name, a.email, a.email_verified as "emailVerified", a.kind, a.roles,
  a.disabled_at is not null as disabled, a.password_hash as "passwordHash", ${membershipsOfAccount} as memberships`;
/** As of `nameKey` in guard/keys.ts. */
const failuresKey = `'${accountCounter}:'
  || translate(encode(sha256(convert_to(a.username_key, 'UTF8')), 'base64'), '+/=', '-_')`;
const lastSignIn = `(select max(e.at) from audit_event e where e.account_id = a.id and e.kind = 'sign-in.succeeded')`;
const rows = {
  columns,
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

export const readAccount = ({ passwordHash, ...fields }: AccountRow): Stored<AccountInput> => ({
  record: withoutNulls(fields) as AccountInput,
  secrets: withoutNulls({ passwordHash }),
});
/** `credentials` is the SQL of this field. */
export const createAccountReads = (credentials: string) => {
  const exported = `json_strip_nulls(json_build_object('credentials', ${credentials}))`;
  return createReads({ ...rows, exported }, readAccount);
};
/** Returns the stored accounts by id. */
export async function selectAccounts(on: Queryable, records: readonly AccountInput[]) {
  const ids = records.map(({ id }) => id);
  const rows = await query<AccountRow>(on, `select ${columns} from account a where a.id = any ($1)`, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

export const findAccount = (on: Queryable, name: string) =>
  queryOne<AccountRow>(on, `select ${columns} from account a where ${rows.byKey}`, [canonicalName(name)]);

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
