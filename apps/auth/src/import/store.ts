// How does an import file become rows? Its SQL: upserts that change nothing when nothing has changed, and what is there already.
import { type Database, jsonText } from '@bay-booking/service/database/database';
import { hashPassword, verifyPassword } from '../accounts/passwords.ts';
import type { ClientToStore } from '../clients/imported-client.ts';
import { hashSecret } from '../secrets.ts';
import type { ImportedAccount, ImportedFacility } from './document.ts';

const lockKey = 4_206_912_023;

/** One import at a time, until its transaction ends. */
export async function waitForOtherImports(tx: Database): Promise<void> {
  await tx.raw('select pg_advisory_xact_lock(?)', [lockKey]);
}

export async function knownIds(
  tx: Database,
  table: 'facility' | 'account',
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await tx.raw<{ rows: { id: string }[] }>(`select id from ${table} where id = any (?)`, [
    ids as never,
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Accounts of one file may take names over from each other: whoever gets another gives theirs up first. */
export async function giveUpNames(tx: Database, accounts: readonly ImportedAccount[]): Promise<void> {
  await tx.raw(
    `update account a set username = 'given up by ' || a.id from unnest(?::text[], ?::text[]) as given (id, username)
      where given.id = a.id and lower(given.username) <> lower(a.username)`,
    [accounts.map(({ id }) => id) as never, accounts.map(({ username }) => username) as never],
  );
}

/** Who has these names, in whatever letters; `username` is the one asked for. */
export async function accountsNamed(
  tx: Database,
  usernames: readonly string[],
): Promise<readonly { readonly id: string; readonly username: string }[]> {
  const { rows } = await tx.raw<{ rows: { id: string; username: string }[] }>(
    `select a.id, asked.username from unnest(?::text[]) as asked (username)
       join account a on lower(a.username) = lower(asked.username)`,
    [usernames as never],
  );
  return rows;
}

export async function storeFacility(tx: Database, { id, name }: ImportedFacility): Promise<void> {
  await tx.raw('insert into facility (id, name) values (?, ?) on conflict (id) do update set name = excluded.name', [
    id,
    name,
  ]);
}

export async function storeAccount(tx: Database, account: ImportedAccount): Promise<void> {
  const { id, username, password, name, email, emailVerified, kind, roles, memberships } = account;
  const { rows } = await tx.raw<{ rows: { password_hash: string | null; kind: string; roles: string[] }[] }>(
    'select password_hash, kind, roles from account where id = ? for update',
    [id],
  );
  const before = rows[0];
  const known = before?.password_hash ?? null;
  const unchanged = password === undefined || (known !== null && (await verifyPassword(known, password)));
  const hash = unchanged ? known : await hashPassword(password);
  // Of an address that has just come, nobody has used the mailed link.
  const verified = `case when ?::boolean then excluded.email_verified
         else account.email_verified and lower(coalesce(excluded.email, account.email)) is not distinct from lower(account.email) end`;
  await tx.raw(
    `insert into account (id, username, name, email, email_verified, kind, roles, password_hash)
     values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (id) do update set username = excluded.username, name = coalesce(excluded.name, account.name),
       email = coalesce(excluded.email, account.email),
       email_verified = ${verified},
       kind = excluded.kind, roles = excluded.roles, password_hash = excluded.password_hash, updated_at = now()
     where (account.username, account.name, account.email, account.email_verified, account.kind, account.roles, account.password_hash)
       is distinct from (excluded.username, coalesce(excluded.name, account.name), coalesce(excluded.email, account.email),
         ${verified}, excluded.kind, excluded.roles, excluded.password_hash)`,
    [
      id,
      username,
      name ?? null,
      email ?? null,
      emailVerified ?? false,
      kind ?? before?.kind ?? 'user',
      (roles ?? before?.roles ?? []) as never,
      hash,
      emailVerified !== undefined,
      emailVerified !== undefined,
    ],
  );
  if (!unchanged) await tx.raw("delete from one_time_link where account_id = ? and purpose = 'reset-password'", [id]);
  if (memberships === undefined) return;
  await tx.raw('delete from membership where account_id = ? and facility_id <> all (?)', [
    id,
    memberships.map(({ facilityId }) => facilityId) as never,
  ]);
  for (const { facilityId, role } of memberships) {
    await tx.raw(
      `insert into membership (facility_id, account_id, role) values (?, ?, ?)
       on conflict (facility_id, account_id) do update set role = excluded.role`,
      [facilityId, id, role],
    );
  }
}

/** Of those named, the clients that have a secret. */
export async function confidentialAmong(tx: Database, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await tx.raw<{ rows: { id: string }[] }>(
    'select distinct client_id as id from client_secret where client_id = any (?)',
    [ids as never],
  );
  return new Set(rows.map(({ id }) => id));
}

/** False when a confidential client has no secret, neither in the file nor from before. */
export async function storeClient(tx: Database, client: ClientToStore): Promise<boolean> {
  const { id, kind, pkce, metadata, scope, accountId, name, secret } = client;
  const { rows: changed } = await tx.raw<{ rows: { made: boolean }[] }>(
    `insert into client as c (id, kind, pkce, metadata, scope, account_id, name) values (?, ?, ?, ?::jsonb, ?, ?, ?)
     on conflict (id) do update set kind = excluded.kind, pkce = excluded.pkce, metadata = excluded.metadata,
       scope = excluded.scope, account_id = excluded.account_id, name = excluded.name, disabled_at = null, expires_at = null
     where (c.kind, c.pkce, c.metadata, c.scope, c.account_id, c.name, c.disabled_at, c.expires_at) is distinct from
       (excluded.kind, excluded.pkce, excluded.metadata, excluded.scope, excluded.account_id, excluded.name, null, null)
     returning xmax = 0 as made`,
    [id, kind, pkce, jsonText(metadata), scope, accountId, name],
  );
  if (changed[0]) {
    await tx.raw(
      "insert into audit_event (kind, client_id, account_id, detail) values (?, ?, ?, jsonb_build_object('by', 'import'))",
      [changed[0].made ? 'client.created' : 'client.changed', id, accountId],
    );
  }
  if (metadata.token_endpoint_auth_method === 'none') {
    await tx.raw('delete from client_secret where client_id = ?', [id]);
    return true;
  }
  if (secret !== undefined) {
    // The file says what is: its secret alone is good, with no end.
    await tx.raw('delete from client_secret where client_id = ? and secret_sha256 <> ?', [id, hashSecret(secret)]);
    await tx.raw(
      `insert into client_secret (client_id, secret_sha256) values (?, ?)
       on conflict (client_id, secret_sha256) do update set expires_at = null`,
      [id, hashSecret(secret)],
    );
    return true;
  }
  const { rows } = await tx.raw<{ rows: unknown[] }>('select 1 from client_secret where client_id = ? limit 1', [id]);
  return rows.length > 0;
}
