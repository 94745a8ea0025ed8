// Reads the audit trail of operators, invitations and personal access tokens, and withdraws invitations.
import { textSchema } from '@bay-booking/common/text';
import type { Fields } from '@bay-booking/records/record';
import { type Queryable, queryOne } from '@bay-booking/service/database/database';
import { createFilteredList } from '@bay-booking/service/page-statements';
import { isActiveClient } from '../clients/store.ts';
import { canonicalName } from '../input/username.ts';
import { invitationState } from '../portal/invitations/invitation-store.ts';

/** The trail has no user names, because they are personal data. The paths contain those of today. */
export const operatorEvents = {
  rows: `select e.id as number, e.at, e.kind as action, e.detail ->> 'operator' as "clientId", null as subject,
         e.facility_id as "facilityId", coalesce(e.detail -> 'changed', '[]') as changed,
         case when e.client_id is not null then 'clients/' || e.client_id
              when e.account_id is not null or e.detail ? 'account'
                then 'accounts/' || coalesce(a.username, e.account_id, e.detail ->> 'account')
              when e.facility_id is not null then 'facilities/' || e.facility_id
              else 'export' end as target, coalesce(e.account_id, e.detail ->> 'account') as account, a.username_key
    from audit_event e left join account a on a.id = coalesce(e.account_id, e.detail ->> 'account')
   where e.detail ? 'operator'`,
  filters: { account: { ...textSchema, description: 'The id or user name of an account.' } },
  conditions: { account: 'account = {account} or username_key = {usernameKey}', usernameKey: 'true' },
  complete: (filter: Fields): Fields =>
    typeof filter.account === 'string' ? { ...filter, usernameKey: canonicalName(filter.account) } : filter,
};

export const listInvitations = createFilteredList<object>({
  columns: `i.id, i.facility_id as "facilityId", i.email, i.role, ${invitationState} as state,
    i.sent_at as "sentAt", i.expires_at as "expiresAt"`,
  from: 'from invitation i where true',
  orderBy: 'i.sent_at desc, i.id',
  conditions: { id: 'i.id = {id}', facilityId: 'i.facility_id = {facilityId}' },
});

/** Returns undefined if the invitation was accepted or withdrawn. */
export const deleteInvitation = (tx: Queryable, id: string) =>
  queryOne<{ facilityId: string; email: string; role: string }>(
    tx,
    `update invitation set withdrawn_at = now() where id = $1 and accepted_at is null and withdrawn_at is null
     returning facility_id as "facilityId", email, role`,
    [id],
  );

/** A token is for a facility where its account has a role, unless the token is limited to others. */
export const listTokens = createFilteredList<object>({
  columns: `c.id as client_id, c.name, c.account_id as "accountId", c.access, c.facility_ids as facilities,
     c.created_at as "createdAt", c.last_used_at as "lastUsedAt", c.expires_at as "expiresAt"`,
  from: `from client c where c.kind = 'personal-access-token' and ${isActiveClient}`,
  orderBy: 'c.id',
  conditions: {
    accountId: 'c.account_id = {accountId}',
    facilityId: `(c.facility_ids is null or {facilityId} = any (c.facility_ids)) and exists (
      select from membership m where m.account_id = c.account_id and m.facility_id = {facilityId})`,
  },
});
