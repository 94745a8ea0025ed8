// Who is what at a facility, and how does that change? The SQL of membership as the portal changes it. Every change locks the facility's
// row first: so two owners who remove each other at once cannot leave a facility without one.
import { type Database, query } from '@bay-booking/service/database/database';
import type { FacilityRole } from '../facilities/store.ts';
import { lockRole, peopleAtMost } from './invitation-store.ts';
import { type AccountKind, mayRevoke, rolesToGive } from './rules.ts';

export interface Person {
  readonly accountId: string;
  readonly username: string;
  readonly name: string | null;
  readonly kind: AccountKind;
  readonly disabled: boolean;
  readonly role: FacilityRole;
  readonly since: Date;
  /** Of a service account: personal access tokens that are good now, and when one was last used. */
  readonly tokens: number;
  readonly lastUsedAt: Date | null;
}

export interface EndedInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: string;
}

export type Change =
  | { readonly changed: Person; readonly ended: readonly EndedInvitation[] }
  | { readonly refused: 'gone' | 'not-permitted' | 'last-owner' };

export interface FacilityOfMine {
  readonly id: string;
  readonly name: string;
  readonly role: FacilityRole;
  /** There are others to choose from. */
  readonly ofSeveral: boolean;
}

export interface FacilityOverview extends Omit<FacilityOfMine, 'ofSeveral'> {
  readonly people: number;
  readonly serviceAccounts: number;
}

export type PeopleStore = ReturnType<typeof createPeopleStore>;

const live = 'c.account_id = a.id and c.disabled_at is null and (c.expires_at is null or c.expires_at > now())';
const columns = `a.id as "accountId", a.username, a.name, a.kind, a.disabled_at is not null as disabled, m.role,
  m.created_at as since, (select count(*)::int from client c where ${live}) as tokens,
  (select max(c.last_used_at) from client c where c.account_id = a.id) as "lastUsedAt"`;
const source = 'membership m join account a on a.id = m.account_id';

export function createPeopleStore({ db }: { db: Database }) {
  const find = async (facilityId: string, accountId: string, on: Database = db): Promise<Person | undefined> =>
    (
      await query<Person>(on, `select ${columns} from ${source} where m.facility_id = $1 and a.id = $2`, [
        facilityId,
        accountId,
      ])
    )[0];

  const isLastOwner = async (tx: Database, facilityId: string, accountId: string): Promise<boolean> => {
    const others = await query(
      tx,
      `select 1 as other from ${source}
        where m.facility_id = $1 and m.role = 'owner' and a.disabled_at is null and a.id <> $2 limit 1`,
      [facilityId, accountId],
    );
    return others.length === 0;
  };

  /** Invitations that somebody may no longer make end with the role that made them. */
  const endInvitations = (
    tx: Database,
    facilityId: string,
    accountId: string,
    role: 'any' | 'staff',
  ): Promise<readonly EndedInvitation[]> =>
    query<EndedInvitation>(
      tx,
      `update invitation set withdrawn_at = now() where facility_id = $1 and invited_by = $2
          and accepted_at is null and withdrawn_at is null and ($3 = 'any' or role = $3) returning id, email, role`,
      [facilityId, accountId, role],
    );

  return {
    find,

    /** The facility as this account sees it; undefined where it has no role, whether or not there is such a facility. */
    async facilityFor(accountId: string, facilityId: string): Promise<FacilityOfMine | undefined> {
      const [row] = await query<FacilityOfMine>(
        db,
        `select f.id, f.name, m.role,
                exists (select from membership o where o.account_id = $1 and o.facility_id <> $2) as "ofSeveral"
           from membership m join facility f on f.id = m.facility_id
          where m.account_id = $1 and m.facility_id = $2`,
        [accountId, facilityId],
      );
      return row;
    },

    of: (facilityId: string): Promise<readonly Person[]> =>
      query<Person>(
        db,
        `select ${columns} from ${source} where m.facility_id = $1
          order by array_position(array['owner', 'staff', 'bookings-manager'], m.role), lower(coalesce(a.name, a.username)), a.id
          limit ${peopleAtMost * 2}`,
        [facilityId],
      ),

    facilitiesOf: (accountId: string): Promise<readonly FacilityOverview[]> =>
      query<FacilityOverview>(
        db,
        `select f.id, f.name, m.role,
                (select count(*)::int from membership o join account a on a.id = o.account_id where o.facility_id = f.id and a.kind = 'user') as people,
                (select count(*)::int from membership o join account a on a.id = o.account_id where o.facility_id = f.id and a.kind = 'service') as "serviceAccounts"
           from membership m join facility f on f.id = m.facility_id
          where m.account_id = $1 order by lower(f.name), f.id limit 1000`,
        [accountId],
      ),

    changeRole: (facilityId: string, accountId: string, role: FacilityRole, actorId: string): Promise<Change> =>
      db.transaction(async (tx) => {
        const actor = await lockRole(tx, facilityId, actorId);
        const person = actor && (await find(facilityId, accountId, tx));
        if (!actor || !person) return { refused: 'gone' };
        if (person.role === role) return { changed: person, ended: [] };
        if (!rolesToGive(actor, person.kind, person.role).includes(role)) return { refused: 'not-permitted' };
        if (person.role === 'owner' && (await isLastOwner(tx, facilityId, accountId))) return { refused: 'last-owner' };
        await query(tx, 'update membership set role = $3 where facility_id = $1 and account_id = $2', [
          facilityId,
          accountId,
          role,
        ]);
        const ended = person.role === 'owner' ? await endInvitations(tx, facilityId, accountId, 'staff') : [];
        return { changed: person, ended };
      }),

    revoke: (facilityId: string, accountId: string, actorId: string): Promise<Change> =>
      db.transaction(async (tx) => {
        const actor = await lockRole(tx, facilityId, actorId);
        const person = actor && (await find(facilityId, accountId, tx));
        if (!actor || !person) return { refused: 'gone' };
        if (!mayRevoke(actor, person.role, accountId === actorId)) return { refused: 'not-permitted' };
        if (person.role === 'owner' && (await isLastOwner(tx, facilityId, accountId))) return { refused: 'last-owner' };
        await query(tx, 'delete from membership where facility_id = $1 and account_id = $2', [facilityId, accountId]);
        return { changed: person, ended: await endInvitations(tx, facilityId, accountId, 'any') };
      }),
  };
}
