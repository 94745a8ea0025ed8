// Reads the audit trail of operators, invitations and personal access tokens, and withdraws invitations.
import type { PageRequest } from '@bay-booking/common/page';
import type { EventQuery, EventRow } from '@bay-booking/records/audit';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { isActiveClient } from '../clients/store.ts';
import { readRows } from './outcomes.ts';

const events = (comparison: '>' | '<', order: 'asc' | 'desc'): string => `
  select e.id::float8 as number, e.at, e.kind as action, e.detail ->> 'operator' as "clientId",
         e.facility_id as "facilityId", coalesce(e.detail -> 'changed', '[]') as changed,
         case when e.client_id is not null then 'clients/' || e.client_id
              when e.account_id is not null or e.detail ? 'account'
                then 'accounts/' || coalesce(a.username, e.account_id, e.detail ->> 'account')
              when e.facility_id is not null then 'facilities/' || e.facility_id
              else 'export' end as target
    from audit_event e left join account a on a.id = coalesce(e.account_id, e.detail ->> 'account')
   where e.detail ? 'operator' and ($1::bigint is null or e.id ${comparison} $1)
     and ($2::text is null or e.facility_id = $2)
     and ($3::text is null or coalesce(e.account_id, e.detail ->> 'account') = $3 or lower(a.username) = lower($3))
     and ($4::text is null or e.kind = $4) and ($5::timestamptz is null or e.at >= $5)
     and ($6::timestamptz is null or e.at < $6)
   order by e.id ${order} limit $7`;
const oldestFirst = events('>', 'asc');
const newestFirst = events('<', 'desc');

/** The trail has no user names, because they are personal data. The paths contain those of today. */
export function listEvents(on: Queryable, { after, startDate, endDate, isNewestFirst, limit, filter }: EventQuery) {
  const { facilityId = null, account = null, action = null } = filter;
  const values = [after ?? null, facilityId, account, action, startDate ?? null, endDate ?? null, limit];
  return query<EventRow>(on, isNewestFirst ? newestFirst : oldestFirst, values);
}

const invitationColumns = `i.id, i.facility_id as "facilityId", i.email, i.role,
  case when i.accepted_at is not null then 'accepted' when i.withdrawn_at is not null then 'withdrawn'
       when i.expires_at <= now() then 'expired' else 'open' end as state,
  i.sent_at as "sentAt", i.expires_at as "expiresAt"`;

interface Filter {
  readonly id?: string;
  readonly facilityId?: string;
  readonly accountId?: string;
}

export const listInvitations = (on: Queryable, { id, facilityId }: Filter, page: PageRequest) =>
  readRows<object>(
    on,
    invitationColumns,
    'from invitation i where ($1::text is null or i.id = $1) and ($2::text is null or i.facility_id = $2)',
    { order: 'i.sent_at desc, i.id', values: [id ?? null, facilityId ?? null], page },
  );

/** Returns undefined if the invitation was accepted or withdrawn. */
export async function deleteInvitation(tx: Queryable, id: string) {
  const [withdrawn] = await query<{ facilityId: string; email: string; role: string }>(
    tx,
    `update invitation set withdrawn_at = now() where id = $1 and accepted_at is null and withdrawn_at is null
     returning facility_id as "facilityId", email, role`,
    [id],
  );
  return withdrawn;
}

/** A token is for a facility where its account has a role, unless the token is limited to others. */
export const listTokens = (on: Queryable, { accountId, facilityId }: Filter, page: PageRequest) =>
  readRows<object>(
    on,
    `c.id as client_id, c.name, c.account_id as "accountId", c.access, c.facility_ids as facilities,
     c.created_at as "createdAt", c.last_used_at as "lastUsedAt", c.expires_at as "expiresAt"`,
    `from client c where c.kind = 'personal-access-token' and ${isActiveClient}
      and ($1::text is null or c.account_id = $1) and ($2::text is null or (
        (c.facility_ids is null or $2 = any (c.facility_ids))
        and exists (select from membership m where m.account_id = c.account_id and m.facility_id = $2)))`,
    { order: 'c.id', values: [accountId ?? null, facilityId ?? null], page },
  );
