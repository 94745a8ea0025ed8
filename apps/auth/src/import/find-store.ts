// Reads facilities, accounts and clients as the import compares them with its entries.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { membershipsOfAccount } from '../accounts/store.ts';
import type { StoredClient } from '../clients/metadata.ts';
import type { ImportedFacility } from './document.ts';
import type { AccountState, ClientState, StoredSecret } from './entries.ts';

export interface Selection {
  /** SQL conditions with placeholders from $1. `true` selects every record. */
  readonly where: string;
  readonly values: readonly unknown[];
  readonly limit?: number;
  readonly offset?: number;
}

export type Kind = 'facility' | 'account' | 'client';

const isoTime = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const selectLists: Readonly<Record<Kind, string>> = {
  facility: 'f.id, f.name, f.time_zone as "timeZone" from facility f',
  account: `a.id, a.username, a.name, a.email, a.email_verified as "emailVerified", a.kind, a.roles,
    a.disabled_at is not null as disabled, a.password_hash as "passwordHash", ${membershipsOfAccount} as memberships
    from account a`,
  client: `c.id, c.kind, c.pkce, c.metadata, c.scope, c.account_id as "accountId", c.name, c.access,
    c.facility_ids as "facilityIds", c.disabled_at is not null as disabled, ${isoTime('c.expires_at')} as "expiresAt",
    (select coalesce(jsonb_agg(jsonb_build_object('sha256', s.secret_sha256, 'expiresAt', ${isoTime('s.expires_at')})
                               order by s.created_at, s.secret_sha256), '[]')
       from client_secret s where s.client_id = c.id) as secrets
    from client c`,
};

function select<Row extends object>(
  on: Queryable,
  kind: Kind,
  { where, values, limit, offset = 0 }: Selection,
): Promise<readonly Row[]> {
  // A request with one entry reads only one table.
  if (values.every((value) => Array.isArray(value) && value.length === 0) && values.length > 0)
    return Promise.resolve([]);
  const page = limit === undefined ? '' : ` limit ${Math.trunc(limit)} offset ${Math.trunc(offset)}`;
  return query<Row>(on, `select ${selectLists[kind]} where ${where} order by id${page}`, values);
}

export const selectFacilities = (on: Queryable, selection: Selection) =>
  select<Required<ImportedFacility>>(on, 'facility', selection);

export const selectAccounts = (on: Queryable, selection: Selection) => select<AccountState>(on, 'account', selection);

type ClientRow = StoredClient & {
  readonly name: string | null;
  readonly disabled: boolean;
  readonly expiresAt: string | null;
  readonly secrets: readonly StoredSecret[];
};

export async function selectClients(on: Queryable, selection: Selection): Promise<readonly ClientState[]> {
  const rows = await select<ClientRow>(on, 'client', selection);
  return rows.map(({ disabled, expiresAt, secrets, ...client }) => ({
    client: { ...client, secretHashes: [], secret: undefined },
    disabled,
    expiresAt,
    secrets,
  }));
}

const alias: Readonly<Record<Kind, string>> = { facility: 'f', account: 'a', client: 'c' };

export async function countRecords(on: Queryable, kind: Kind, { where, values }: Selection): Promise<number> {
  const sql = `select count(*)::int as count from ${kind} ${alias[kind]} where ${where}`;
  const [row] = await query<{ count: number }>(on, sql, values);
  return row?.count ?? 0;
}

export const withIds = (kind: Kind, ids: readonly string[]): Selection => ({
  where: `${alias[kind]}.id = any ($1)`,
  values: [ids],
});

export const withUsername = (username: string): Selection => ({
  where: 'lower(a.username) = lower($1)',
  values: [username],
});

export async function findExistingIds(
  tx: Queryable,
  table: 'facility' | 'account',
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await query<{ id: string }>(tx, `select id from ${table} where id = any ($1)`, [ids]);
  return new Set(rows.map(({ id }) => id));
}

export async function findDeletedAccounts(tx: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await query<{ id: string }>(tx, 'select id from deleted_account where id = any ($1)', [ids]);
  return new Set(rows.map(({ id }) => id));
}

/** Returns the ids of the accounts whose user name another account has, unless the import gives that one a new name. */
export async function findTakenUsernames(
  tx: Queryable,
  accounts: readonly { readonly id: string; readonly username: string }[],
): Promise<ReadonlySet<string>> {
  if (accounts.length === 0) return new Set();
  const rows = await query<{ id: string }>(
    tx,
    `with wanted as (select * from unnest($1::text[], $2::text[]) as w (id, username))
     select w.id from wanted w join account a on lower(a.username) = lower(w.username) and a.id <> w.id
      where not exists (select from wanted o where o.id = a.id and lower(o.username) <> lower(a.username))`,
    [accounts.map(({ id }) => id), accounts.map(({ username }) => username)],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Returns the facilities among `ids` without an owner who can sign in. */
export async function findWithoutOwner(tx: Queryable, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await query<{ id: string }>(
    tx,
    `select f.id from unnest($1::text[]) as f (id) where not exists (
       select from membership m join account a on a.id = m.account_id
        where m.facility_id = f.id and m.role = 'owner' and a.disabled_at is null)`,
    [ids],
  );
  return rows.map(({ id }) => id);
}
