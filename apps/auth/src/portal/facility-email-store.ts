// Finds who gets an e-mail about a change at a facility, and what the e-mail says about the facility and the actor.
import { type Queryable, query, queryOne } from '@bay-booking/service/database/database';
import type { Account } from '../accounts/store.ts';

export type Addressee = Pick<Account, 'id' | 'username' | 'name' | 'email' | 'emailVerified'>;

export interface EmailContext {
  readonly facility: string;
  readonly timeZone: string;
  /** Null if an operator made the change. */
  readonly actor: Pick<Addressee, 'username' | 'name' | 'emailVerified'> | null;
}

export interface Recipients {
  readonly facilityId: string;
  readonly actorId: string | undefined;
  /** The members who get the e-mail. */
  readonly members: 'owners' | 'all' | 'none';
  /** Further recipients, who may have lost their role. */
  readonly accountIds: readonly string[];
}

/** An import may add more members than the portal allows. */
const maxRecipients = 1_000;

export const findEmailContext = (on: Queryable, facilityId: string, actorId: string | undefined) =>
  queryOne<EmailContext>(
    on,
    `select f.name as facility, f.time_zone as "timeZone", case when a.id is not null then jsonb_build_object(
              'username', a.username, 'name', a.name, 'emailVerified', a.email_verified) end as actor
       from facility f left join account a on a.id = $2 where f.id = $1`,
    [facilityId, actorId ?? null],
  );

/** Leaves out the actor and disabled accounts. */
export const findRecipients = (on: Queryable, { facilityId, actorId, members, accountIds }: Recipients) =>
  query<Addressee>(
    on,
    `select a.id, a.username, a.name, a.email, a.email_verified as "emailVerified" from account a
      where a.disabled_at is null and a.id is distinct from $2 and (a.id = any ($4) or $3 <> 'none' and exists (
              select from membership m where m.account_id = a.id and m.facility_id = $1 and ($3 = 'all' or m.role = 'owner')))
      order by a.id limit ${maxRecipients}`,
    [facilityId, actorId ?? null, members, accountIds],
  );
