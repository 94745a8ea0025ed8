// Writes the facilities, accounts and clients that an import changes, each table with one statement.
import { jsonText, type Queryable, query } from '@bay-booking/service/database/database';
import { usesSecret } from '../clients/metadata.ts';
import type { FacilityRole } from '../facilities/roles.ts';
import { forgetFailures } from '../guard/failures-store.ts';
import { createSessionStore } from '../interaction/sign-in/session-store.ts';
import type { ImportedFacility } from './document.ts';
import type { AccountState, ClientState } from './entries.ts';

/** An arbitrary number that no other lock uses. */
const lockKey = 4_206_912_023;

/** Every change by an import or an operator takes it, so the numbers of their audit events are in their order. */
export async function lockImports(tx: Queryable): Promise<void> {
  await query(tx, 'select pg_advisory_xact_lock($1)', [lockKey]);
}

/** The locks that changes of members take (portal/facility-lock-store.ts), then those of the accounts. */
export async function lockMembers(tx: Queryable, accountIds: readonly string[], facilityIds: readonly string[]) {
  if (accountIds.length + facilityIds.length === 0) return;
  await query(
    tx,
    `select 1 as locked from facility
      where id = any ($1) or id in (select facility_id from membership where account_id = any ($2))
      order by id for no key update`,
    [facilityIds, accountIds],
  );
  await query(tx, 'select 1 as locked from account where id = any ($1) order by id for update', [accountIds]);
}

export async function writeFacilities(tx: Queryable, facilities: readonly Required<ImportedFacility>[]) {
  if (facilities.length === 0) return;
  await query(
    tx,
    `insert into facility (id, name, time_zone) select * from unnest($1::text[], $2::text[], $3::text[])
     on conflict (id) do update set name = excluded.name, time_zone = excluded.time_zone`,
    [facilities.map(({ id }) => id), facilities.map(({ name }) => name), facilities.map(({ timeZone }) => timeZone)],
  );
}

export interface AccountChange {
  readonly before: AccountState | undefined;
  /** With the new password. */
  readonly after: AccountState;
}

const accountRecord = `jsonb_to_recordset($1::jsonb) as n (id text, username text, name text, email text,
  "emailVerified" boolean, kind text, roles jsonb, disabled boolean, "passwordHash" text)`;
const rolesOfRecord = 'array(select jsonb_array_elements_text(n.roles))';

/** Returns the ids of the accounts that were not written, because a registration took their user name meanwhile. */
export async function writeAccounts(tx: Queryable, changes: readonly AccountChange[]): Promise<readonly string[]> {
  if (changes.length === 0) return [];
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
  const missing = changes.map(({ after }) => after.id).filter((id) => !ids.has(id));
  if (missing.length === 0) await writeMemberships(tx, changes);
  return missing;
}

interface MembershipRow {
  readonly facilityId: string;
  readonly accountId: string;
  readonly role: FacilityRole;
}

const membershipsOf = (account: AccountState | undefined): readonly MembershipRow[] =>
  account?.memberships.map((membership) => ({ ...membership, accountId: account.id })) ?? [];

export interface MembershipChange extends MembershipRow {
  /** Undefined: the account had no role. */
  readonly from: FacilityRole | undefined;
  /** Undefined: the account has no role any more. */
  readonly to: FacilityRole | undefined;
}

export function membershipChanges({ before, after }: AccountChange): MembershipChange[] {
  const roleIn = (account: AccountState | undefined, facilityId: string) =>
    account?.memberships.find((membership) => membership.facilityId === facilityId)?.role;
  const kept = membershipsOf(after).map((row) => ({ ...row, from: roleIn(before, row.facilityId), to: row.role }));
  const removed = membershipsOf(before)
    .filter(({ facilityId }) => roleIn(after, facilityId) === undefined)
    .map((row) => ({ ...row, from: row.role, to: undefined }));
  return [...kept.filter(({ from, to }) => from !== to), ...removed];
}

async function writeMemberships(tx: Queryable, changes: readonly AccountChange[]): Promise<void> {
  const rows = changes.flatMap(membershipChanges);
  if (rows.length === 0) return;
  const removed = rows.filter(({ to }) => to === undefined);
  await query(
    tx,
    `delete from membership m using unnest($1::text[], $2::text[]) as r (facility_id, account_id)
      where m.facility_id = r.facility_id and m.account_id = r.account_id`,
    [removed.map(({ facilityId }) => facilityId), removed.map(({ accountId }) => accountId)],
  );
  // The same rule as in portal/members/member-store.ts: whoever loses a right loses the invitations made with it.
  await query(
    tx,
    `update invitation i set withdrawn_at = now()
       from unnest($1::text[], $2::text[], $3::text[]) as r (facility_id, account_id, role)
      where i.facility_id = r.facility_id and i.invited_by = r.account_id and i.accepted_at is null
        and i.withdrawn_at is null and (r.role is distinct from 'staff' or i.role = 'staff')`,
    columnsOf(rows.filter(({ from, to }) => (from === 'owner' || from === 'staff') && to !== 'owner')),
  );
  await query(
    tx,
    `insert into membership (facility_id, account_id, role) select * from unnest($1::text[], $2::text[], $3::text[])
     on conflict (facility_id, account_id) do update set role = excluded.role`,
    columnsOf(rows.filter(({ to }) => to !== undefined)),
  );
}

const columnsOf = (rows: readonly MembershipChange[]): unknown[] => [
  rows.map(({ facilityId }) => facilityId),
  rows.map(({ accountId }) => accountId),
  rows.map(({ to }) => to ?? null),
];

/** Ends what somebody got with the earlier password, and the links with which it could be replaced again. */
export async function endAccess(tx: Queryable, { id, username }: AccountState, why: { newPassword: boolean }) {
  // The running instances of auth send the logout tokens that `endEverything` queues.
  await createSessionStore({ db: tx, sendLogoutTokens: () => {} }).endEverything(id);
  if (!why.newPassword) return;
  await query(tx, "delete from one_time_link where account_id = $1 and purpose = 'reset-password'", [id]);
  await forgetFailures(tx, username);
}

export async function writeClients(tx: Queryable, clients: readonly ClientState[]): Promise<void> {
  if (clients.length === 0) return;
  const records = clients.map(({ client, disabled, expiresAt }) => ({
    id: client.id,
    kind: client.kind,
    pkce: client.pkce,
    metadata: client.metadata,
    scope: client.scope,
    account_id: client.accountId,
    name: client.name,
    access: client.access,
    facility_ids: client.facilityIds,
    disabled,
    expires_at: expiresAt,
  }));
  await query(
    tx,
    `insert into client as c (id, kind, pkce, metadata, scope, account_id, name, access, facility_ids, disabled_at,
                              expires_at)
     select n.id, n.kind, n.pkce, n.metadata, n.scope, n.account_id, n.name, n.access,
            case when jsonb_typeof(n.facility_ids) = 'array' then array(select jsonb_array_elements_text(n.facility_ids)) end,
            case when n.disabled then now() end, n.expires_at
       from jsonb_to_recordset($1::jsonb) as n (id text, kind text, pkce text, metadata jsonb, scope text,
              account_id text, name text, access text, facility_ids jsonb, disabled boolean, expires_at timestamptz)
     on conflict (id) do update set kind = excluded.kind, pkce = excluded.pkce, metadata = excluded.metadata,
       scope = excluded.scope, account_id = excluded.account_id, name = excluded.name, access = excluded.access,
       facility_ids = excluded.facility_ids,
       disabled_at = case when excluded.disabled_at is not null then coalesce(c.disabled_at, now()) end,
       -- The text of an entry has milliseconds only.
       expires_at = case when date_trunc('milliseconds', c.expires_at) = excluded.expires_at then c.expires_at
                         else excluded.expires_at end`,
    [jsonText(records)],
  );
  const secrets = clients.flatMap(({ client, secrets: stored }) =>
    (usesSecret(client.metadata) ? stored : []).map((secret) => ({ client_id: client.id, ...secret })),
  );
  const record = `jsonb_to_recordset($2::jsonb) as n (client_id text, sha256 text, "expiresAt" timestamptz)`;
  await query(
    tx,
    `delete from client_secret s where s.client_id = any ($1) and not exists (
       select from ${record} where n.client_id = s.client_id and n.sha256 = s.secret_sha256)`,
    [clients.map(({ client }) => client.id), jsonText(secrets)],
  );
  await query(
    tx,
    `insert into client_secret as s (client_id, secret_sha256, expires_at)
     select client_id, sha256, "expiresAt" from ${record.replace('$2', '$1')}
     on conflict (client_id, secret_sha256) do update set expires_at = excluded.expires_at
       where date_trunc('milliseconds', s.expires_at) is distinct from excluded.expires_at`,
    [jsonText(secrets)],
  );
}
