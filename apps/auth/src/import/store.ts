// Reads and writes the tables that an import changes. Records that do not change are not written.
import { jsonText, type Queryable, query } from '@bay-booking/service/database/database';
import { hashPassword, verifyPassword } from '../accounts/passwords.ts';
import { insertAccount } from '../accounts/store.ts';
import { usesSecret } from '../clients/metadata.ts';
import { createSessionStore } from '../interaction/sign-in/session-store.ts';
import { hashSecret } from '../secrets.ts';
import type { ImportedAccount, ImportedFacility } from './document.ts';
import type { ClientToStore } from './imported-client.ts';

/** An arbitrary number that no other lock uses. */
const lockKey = 4_206_912_023;

export async function lockImports(tx: Queryable): Promise<void> {
  await query(tx, 'select pg_advisory_xact_lock($1)', [lockKey]);
}

export async function findExistingIds(
  tx: Queryable,
  table: 'facility' | 'account',
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await query<{ id: string }>(tx, `select id from ${table} where id = any ($1)`, [ids]);
  return new Set(rows.map(({ id }) => id));
}

export async function findDeletedAccounts(tx: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await query<{ id: string }>(tx, 'select id from deleted_account where id = any ($1)', [ids]);
  return new Set(rows.map(({ id }) => id));
}

/** Otherwise, two accounts could not exchange their user names, which must be unique at any time. */
export async function releaseUsernames(tx: Queryable, accounts: readonly ImportedAccount[]): Promise<void> {
  await query(
    tx,
    `update account a set username = 'given up by ' || a.id
       from unnest($1::text[], $2::text[]) as imported (id, username)
      where imported.id = a.id and lower(imported.username) <> lower(a.username)`,
    [accounts.map(({ id }) => id), accounts.map(({ username }) => username)],
  );
}

/** Ignores the case. The `username` of a result is written as in `usernames`. */
export const findByUsernames = (
  tx: Queryable,
  usernames: readonly string[],
): Promise<readonly { readonly id: string; readonly username: string }[]> =>
  query(
    tx,
    `select a.id, wanted.username from unnest($1::text[]) as wanted (username)
       join account a on lower(a.username) = lower(wanted.username)`,
    [usernames],
  );

export async function storeFacility(tx: Queryable, { id, name, timeZone }: ImportedFacility): Promise<void> {
  await query(
    tx,
    `insert into facility as f (id, name, time_zone) values ($1, $2, coalesce($3, 'UTC'))
     on conflict (id) do update set name = excluded.name, time_zone = coalesce($3, f.time_zone)`,
    [id, name, timeZone ?? null],
  );
}

/** Returns false if another account has the user name. */
export async function storeAccount(tx: Queryable, account: ImportedAccount): Promise<boolean> {
  const [stored] = await query<{ passwordHash: string | null }>(
    tx,
    'select password_hash as "passwordHash" from account where id = $1 for update',
    [account.id],
  );
  if (stored) {
    await updateAccount(tx, account, stored.passwordHash);
  } else {
    const inserted = await insertAccount(tx, {
      id: account.id,
      username: account.username,
      name: account.name ?? null,
      email: account.email ?? null,
      emailVerified: account.emailVerified ?? false,
      kind: account.kind ?? 'user',
      roles: account.roles ?? [],
      passwordHash: account.password === undefined ? null : await hashPassword(account.password),
    });
    if (!inserted) return false;
  }
  if (account.memberships) await storeMemberships(tx, account.id, account.memberships);
  if (account.disabled !== undefined) await setDisabled(tx, account.id, account.disabled);
  return true;
}

/** Disables or enables an account. Disabling ends its sessions and grants. */
async function setDisabled(tx: Queryable, id: string, disabled: boolean): Promise<void> {
  const changed = await query(
    tx,
    `update account set disabled_at = case when $2 then now() end, updated_at = now()
      where id = $1 and (disabled_at is not null) <> $2 returning 1 as done`,
    [id, disabled],
  );
  if (changed.length === 0) return;
  // `endEverything` queues the logout tokens. `sendLogoutTokens` does nothing, because the running instances of auth
  // send the queued tokens.
  if (disabled) await createSessionStore({ db: tx, sendLogoutTokens: () => {} }).endEverything(id);
  await query(
    tx,
    `insert into audit_event (kind, account_id, detail) values ($1, $2, jsonb_build_object('by', 'import'))`,
    [disabled ? 'account.disabled' : 'account.enabled', id],
  );
}

/** Fields that the file leaves out keep their stored values, except `emailVerified` if the e-mail address changes. */
async function updateAccount(tx: Queryable, account: ImportedAccount, storedHash: string | null): Promise<void> {
  const { id, username, password, name, email, emailVerified, kind, roles } = account;
  const keepsPassword = password === undefined || (storedHash !== null && (await verifyPassword(storedHash, password)));
  const passwordHash = keepsPassword ? storedHash : await hashPassword(password);
  // These two constants are SQL. If the e-mail address changes, it is unverified unless the file says otherwise. The
  // column email_proven_at contains the time at which the current address became verified.
  const sameEmail = 'lower(coalesce($4, email)) is not distinct from lower(email)';
  const verified = `coalesce($5, email_verified and ${sameEmail})`;
  await query(
    tx,
    `update account set username = $2, name = coalesce($3, name), email = coalesce($4, email),
            email_verified = ${verified},
            email_proven_at = case when not ${verified} then null
                                   when email_verified and ${sameEmail} then email_proven_at else now() end,
            kind = coalesce($6, kind), roles = coalesce($7, roles), password_hash = $8, updated_at = now()
      where id = $1 and (username, name, email, email_verified, kind, roles, password_hash) is distinct from
        ($2, coalesce($3, name), coalesce($4, email), ${verified}, coalesce($6, kind), coalesce($7, roles), $8)`,
    [id, username, name ?? null, email ?? null, emailVerified ?? null, kind ?? null, roles ?? null, passwordHash],
  );
  // Deletes the links for resetting the old password, so that nobody can use them to replace the new password.
  if (!keepsPassword) {
    await query(tx, "delete from one_time_link where account_id = $1 and purpose = 'reset-password'", [id]);
  }
}

async function storeMemberships(
  tx: Queryable,
  accountId: string,
  memberships: NonNullable<ImportedAccount['memberships']>,
): Promise<void> {
  await query(tx, 'delete from membership where account_id = $1 and facility_id <> all ($2)', [
    accountId,
    memberships.map(({ facilityId }) => facilityId),
  ]);
  for (const { facilityId, role } of memberships) {
    await query(
      tx,
      `insert into membership (facility_id, account_id, role) values ($1, $2, $3)
       on conflict (facility_id, account_id) do update set role = excluded.role`,
      [facilityId, accountId, role],
    );
  }
}

export async function findClientsWithSecret(tx: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await query<{ id: string }>(
    tx,
    'select distinct client_id as id from client_secret where client_id = any ($1)',
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Returns false if the client needs a secret, and neither the file nor the database contains one. */
export async function storeClient(tx: Queryable, client: ClientToStore): Promise<boolean> {
  const { id, kind, pkce, metadata, scope, accountId, name, secret, access, facilityIds } = client;
  // The system column xmax is 0 in a row that was inserted, and not 0 in a row that was updated.
  const [changed] = await query<{ inserted: boolean }>(
    tx,
    `insert into client as c (id, kind, pkce, metadata, scope, account_id, name, access, facility_ids)
     values ($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9)
     on conflict (id) do update set kind = excluded.kind, pkce = excluded.pkce, metadata = excluded.metadata,
       scope = excluded.scope, account_id = excluded.account_id, name = excluded.name,
       access = excluded.access, facility_ids = excluded.facility_ids, disabled_at = null, expires_at = null
     where (c.kind, c.pkce, c.metadata, c.scope, c.account_id, c.name, c.access, c.facility_ids, c.disabled_at,
            c.expires_at) is distinct from
       (excluded.kind, excluded.pkce, excluded.metadata, excluded.scope, excluded.account_id, excluded.name,
        excluded.access, excluded.facility_ids, null, null)
     returning xmax = 0 as inserted`,
    [id, kind, pkce, jsonText(metadata), scope, accountId, name, access, facilityIds],
  );
  if (changed) {
    await query(
      tx,
      `insert into audit_event (kind, client_id, account_id, detail)
       values ($1, $2, $3, jsonb_build_object('by', 'import'))`,
      [changed.inserted ? 'client.created' : 'client.changed', id, accountId],
    );
  }
  if (!usesSecret(metadata)) {
    await query(tx, 'delete from client_secret where client_id = $1', [id]);
    return true;
  }
  if (secret === undefined) return (await findClientsWithSecret(tx, [id])).has(id);
  // The secret in the file replaces all stored secrets, and does not expire.
  const secretHash = hashSecret(secret);
  await query(tx, 'delete from client_secret where client_id = $1 and secret_sha256 <> $2', [id, secretHash]);
  await query(
    tx,
    `insert into client_secret (client_id, secret_sha256) values ($1, $2)
     on conflict (client_id, secret_sha256) do update set expires_at = null`,
    [id, secretHash],
  );
  return true;
}
