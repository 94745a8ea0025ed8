// Reads the audit trail of operators, and makes the changes that are no import: deletions, secrets and tokens.
import { type Queryable, query } from '@bay-booking/service/database/database';

export interface EventRow {
  readonly number: number;
  readonly at: Date;
  readonly action: string;
  readonly clientId: string;
  readonly facilityId: string | null;
  readonly target: string;
  readonly changed: readonly string[];
}

export interface EventFilter {
  readonly facilityId?: string | undefined;
  /** The id or the user name. */
  readonly account?: string | undefined;
  readonly action?: string | undefined;
}

/** The trail has no user names, because they are personal data. The paths contain those of today. */
export const listEvents = (
  db: Queryable,
  after: number,
  { facilityId, account, action }: EventFilter,
  limit: number,
): Promise<readonly EventRow[]> =>
  query<EventRow>(
    db,
    `select e.id::float8 as number, e.at, e.kind as action, e.detail ->> 'operator' as "clientId",
            e.facility_id as "facilityId", coalesce(e.detail -> 'changed', '[]') as changed,
            case when e.client_id is not null then 'clients/' || e.client_id
                 when e.account_id is not null or e.detail ? 'account'
                   then 'accounts/' || coalesce(a.username, e.account_id, e.detail ->> 'account')
                 when e.facility_id is not null then 'facilities/' || e.facility_id
                 else 'export' end as target
       from audit_event e left join account a on a.id = coalesce(e.account_id, e.detail ->> 'account')
      where e.detail ? 'operator' and e.id > $1 and ($2::text is null or e.facility_id = $2)
        and ($3::text is null or coalesce(e.account_id, e.detail ->> 'account') = $3 or lower(a.username) = lower($3))
        and ($4::text is null or e.kind = $4)
      order by e.id limit $5`,
    [after, facilityId ?? null, account ?? null, action ?? null, limit],
  );

/** Returns false if the facility has members. Open invitations to it end. */
export async function deleteFacility(tx: Queryable, id: string): Promise<boolean> {
  await query(tx, 'select 1 as locked from facility where id = $1 for update', [id]);
  const deleted = await query(
    tx,
    'delete from facility where id = $1 and not exists (select from membership where facility_id = $1) returning 1 as done',
    [id],
  );
  if (deleted.length === 0) return false;
  // A token for other facilities too stays. One without facilities gets no rights.
  await query(
    tx,
    'update client set facility_ids = array_remove(facility_ids, $1) where facility_ids @> array[$1::text]',
    [id],
  );
  return true;
}

/** Also deletes the grants of users, so that a new client with the same id does not get them. */
export async function deleteClient(tx: Queryable, id: string): Promise<void> {
  await query(tx, 'delete from oidc_artifact where client_id = $1', [id]);
  await query(tx, 'delete from client where id = $1', [id]);
}

export interface TokenFilter {
  readonly accountId?: string | undefined;
  readonly facilityId?: string | undefined;
}

export interface TokenRow {
  readonly client_id: string;
  readonly name: string | null;
  readonly accountId: string;
  readonly access: string;
  readonly facilities: readonly string[] | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
}

const isActiveToken = `c.kind = 'personal-access-token' and c.disabled_at is null
  and (c.expires_at is null or c.expires_at > now())`;
/** A token is for a facility where its account has a role, unless the token is limited to others. */
const matchesFilter = `($1::text is null or c.account_id = $1) and ($2::text is null or (
  (c.facility_ids is null or $2 = any (c.facility_ids))
  and exists (select from membership m where m.account_id = c.account_id and m.facility_id = $2)))`;

export const listTokens = (db: Queryable, { accountId, facilityId }: TokenFilter, limit: number, offset: number) =>
  query<TokenRow>(
    db,
    `select c.id as client_id, c.name, c.account_id as "accountId", c.access, c.facility_ids as facilities,
            c.created_at as "createdAt", c.last_used_at as "lastUsedAt", c.expires_at as "expiresAt"
       from client c where ${isActiveToken} and ${matchesFilter} order by c.id limit $3 offset $4`,
    [accountId ?? null, facilityId ?? null, limit, offset],
  );

export async function countTokens(db: Queryable, { accountId, facilityId }: TokenFilter): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    `select count(*)::int as count from client c where ${isActiveToken} and ${matchesFilter}`,
    [accountId ?? null, facilityId ?? null],
  );
  return row?.count ?? 0;
}
