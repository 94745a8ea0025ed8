// Reads the names that a facility may see: of its members and former members, and of the clients that they used.
import { type Database, query } from '@bay-booking/service/database/database';
import type { FacilityRole } from './roles.ts';

export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly kind: 'user' | 'service';
  /** Null for a former member. */
  readonly role: FacilityRole | null;
  readonly former: boolean;
}

export interface NamedClient {
  readonly clientId: string;
  readonly name: string;
  /** The service account of a personal access token. Null for an application. */
  readonly subject: string | null;
}

/** Members come before former members. Of former members, those who left last come first. */
export const maxPeople = 2_000;
export const maxClients = 2_000;

/** The activity of an account after `until` does not concern the facility `$1`. */
const members = `member as (
  select account_id as id, role, false as former, 'infinity'::timestamptz as until from membership where facility_id = $1
  union all
  select f.account_id, f.role, true, f.left_at from former_member f
   where f.facility_id = $1
     and not exists (select from membership m where m.facility_id = $1 and m.account_id = f.account_id))`;

/** A member has used few applications, but each very often, so the query reads one event of each. */
const nextApplication = `select e.client_id from audit_event e
  where e.account_id = m.id and e.at <= m.until and e.kind in ('authorization.granted', 'device.connected')`;

const clientName = `coalesce(nullif(c.name, ''), nullif(c.metadata ->> 'client_name', ''), c.id)`;

export async function findPeople(db: Database, facilityId: string) {
  const [people, clients] = await Promise.all([
    query<Person>(
      db,
      `with ${members}
       select m.id as subject, coalesce(a.name, a.username, 'Former member ' || d.number) as name,
              coalesce(a.kind, case when m.role in ('owner', 'staff') then 'user' else 'service' end) as kind,
              case when not m.former then m.role end as role, m.former
         from member m left join account a on a.id = m.id left join deleted_account d on d.id = m.id
        where a.id is not null or d.id is not null
        order by m.former, m.until desc, m.id limit ${maxPeople}`,
      [facilityId],
    ),
    // The facility may have been taken out of a token since. Then the history of the facility has the token.
    query<NamedClient>(
      db,
      `with ${members},
       used as (
         select k.client_id as id from member m join consent k on k.account_id = m.id and k.created_at <= m.until
         union
         select g.client_id from member m join oidc_artifact g
             on g.model = 'Grant' and g.account_id = m.id and g.created_at <= m.until
         union
         select a.client_id from member m cross join lateral (
           with recursive application as (
             select (${nextApplication} order by e.client_id limit 1) as client_id
             union all
             select (${nextApplication} and e.client_id > b.client_id order by e.client_id limit 1)
               from application b where b.client_id is not null)
           select client_id from application where client_id is not null) a),
       token as (
         select c.id, c.account_id, ${clientName} as name, c.facility_ids, c.created_at, c.disabled_at
           from client c where c.kind = 'personal-access-token'
         union all
         select d.id, d.account_id, d.name, d.facility_ids, d.created_at, '-infinity'
           from deleted_token d where not exists (select from client c where c.id = d.id)),
       named as (
         select t.id, t.name, t.account_id, t.created_at, t.disabled_at
           from member m join token t on t.account_id = m.id and t.created_at <= m.until
          where t.facility_ids is null or $1 = any (t.facility_ids)
             or exists (select from audit_event e where e.facility_id = $1 and e.client_id = t.id)
         union all
         select c.id, ${clientName}, null, c.created_at, c.disabled_at
           from client c where c.kind <> 'personal-access-token' and c.id in (select id from used))
       select id as "clientId", name, account_id as subject
         from named order by disabled_at is not null, created_at desc, id limit ${maxClients}`,
      [facilityId],
    ),
  ]);
  return { people, clients };
}
