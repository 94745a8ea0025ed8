// Writes the roles of accounts at facilities (table `membership`), for the portal and for records.
import { jsonText, type Queryable, query } from '@bay-booking/service/database/database';
import type { FacilityRole, Membership } from './roles.ts';

/** A role is undefined if the account had or has none at the facility. */
export interface MembershipChange {
  readonly facilityId: string;
  readonly accountId: string;
  readonly from: FacilityRole | undefined;
  readonly to: FacilityRole | undefined;
}

export interface WithdrawnInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: FacilityRole;
}

export interface OwnedFacility {
  readonly id: string;
  readonly name: string;
}

const changeRecord = 'jsonb_to_recordset($1::jsonb) as r ("facilityId" text, "accountId" text, "to" text)';

/** Returns the undecided invitations that are withdrawn, because their senders have lost the right to make them. */
export async function writeMemberships(
  tx: Queryable,
  changes: readonly MembershipChange[],
): Promise<readonly WithdrawnInvitation[]> {
  if (changes.length === 0) return [];
  await query(
    tx,
    `delete from membership m using ${changeRecord}
      where m.facility_id = r."facilityId" and m.account_id = r."accountId" and r."to" is null`,
    [jsonText(changes)],
  );
  await query(
    tx,
    `insert into membership (facility_id, account_id, role)
     select r."facilityId", r."accountId", r."to" from ${changeRecord} where r."to" is not null
     on conflict (facility_id, account_id) do update set role = excluded.role`,
    [jsonText(changes)],
  );
  const withdrawn: WithdrawnInvitation[] = [];
  for (const { facilityId, accountId, from, to } of changes)
    if ((from === 'owner' || from === 'staff') && to !== 'owner')
      withdrawn.push(...(await withdrawInvitations(tx, facilityId, accountId, to === 'staff' ? 'staff' : 'all')));
  return withdrawn;
}

const withdrawInvitations = (
  tx: Queryable,
  facilityId: string,
  accountId: string,
  which: 'all' | 'staff',
): Promise<readonly WithdrawnInvitation[]> =>
  query<WithdrawnInvitation>(
    tx,
    `update invitation set withdrawn_at = now() where facility_id = $1 and invited_by = $2
        and accepted_at is null and withdrawn_at is null and ($3 = 'all' or role = $3) returning id, email, role`,
    [facilityId, accountId, which],
  );

/** For an invitation: the account keeps a role that it has got meanwhile, unless the new one gives more rights. */
export const addMembership = (tx: Queryable, accountId: string, { facilityId, role }: Membership): Promise<unknown> =>
  query(
    tx,
    `insert into membership (facility_id, account_id, role) values ($1, $2, $3)
     on conflict (facility_id, account_id) do update set role = excluded.role
       where membership.role = 'bookings-manager' or excluded.role = 'owner'`,
    [facilityId, accountId, role],
  );

/** Returns the facilities that would have no owner without this account. */
export const findSolelyOwned = (on: Queryable, id: string): Promise<readonly OwnedFacility[]> =>
  query<OwnedFacility>(
    on,
    `select f.id, f.name from membership m join facility f on f.id = m.facility_id
        where m.account_id = $1 and m.role = 'owner' and not exists (
          select from membership o join account a on a.id = o.account_id
           where o.facility_id = m.facility_id and o.role = 'owner' and a.disabled_at is null and a.id <> $1)
        order by f.name`,
    [id],
  );

/** Returns the facilities among `ids` without an owner who can sign in. */
export async function findWithoutOwner(on: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await query<{ id: string }>(
    on,
    `select f.id from unnest($1::text[]) as f (id) where not exists (
       select from membership m join account a on a.id = m.account_id
        where m.facility_id = f.id and m.role = 'owner' and a.disabled_at is null)`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The locks that changes of members take (portal/facility-lock-store.ts), then those of the accounts. */
export async function lockMembers(tx: Queryable, accountIds: readonly string[], facilityIds: readonly string[] = []) {
  await query(
    tx,
    `select 1 as locked from facility
      where id = any ($1) or id in (select facility_id from membership where account_id = any ($2))
      order by id for no key update`,
    [facilityIds, accountIds],
  );
  await query(tx, 'select 1 as locked from account where id = any ($1) order by id for update', [accountIds]);
}
