// Reads and changes the members of facilities for the portal (table `membership`).
import { type Database, type Queryable, query, queryOne, transaction } from '@bay-booking/service/database/database';
import { type Account, type AccountKind, accountColumns } from '../../accounts/store.ts';
import { isActiveClient } from '../../clients/store.ts';
import { findSolelyOwned, type WithdrawnInvitation, writeMemberships } from '../../facilities/membership-store.ts';
import type { FacilityRole } from '../../facilities/roles.ts';
import { resetFactors } from '../../interaction/reset-factors.ts';
import type { Mailer } from '../../outbox/mailer.ts';
import { lockFacilityAs } from '../facility-lock-store.ts';
import { maxMembers } from '../invitations/invitation-store.ts';
import { assignableRoles, type ManagingRole, mayResetFactors, mayRevoke } from '../rules.ts';

export interface Member {
  readonly accountId: string;
  readonly username: string;
  readonly name: string | null;
  readonly kind: AccountKind;
  readonly isDisabled: boolean;
  readonly role: FacilityRole;
  readonly since: Date;
  readonly activeTokens: number;
  /** Whether the service account has ever had a token. */
  readonly hasHadTokens: boolean;
  readonly lastUsedAt: Date | null;
}

export interface RoleChange {
  readonly previousRole: FacilityRole;
  /** The member has lost the right to make these invitations. */
  readonly withdrawnInvitations: readonly WithdrawnInvitation[];
}

export type RoleChangeError = 'not-found' | 'not-permitted' | 'last-owner';

export interface FacilityOfAccount {
  readonly id: string;
  readonly name: string;
  readonly role: FacilityRole;
  readonly timeZone: string;
  readonly requiresSecondFactor: boolean;
  /** An operator has disabled the facility. */
  readonly isDisabled: boolean;
  readonly hasOtherFacilities: boolean;
  readonly people: number;
  readonly serviceAccounts: number;
}

/** The portal allows `maxMembers` members, but an import may add more members. */
const maxListedMembers = 2 * maxMembers;

const columns = `a.id as "accountId", a.username, a.name, a.kind, a.disabled_at is not null as "isDisabled", m.role,
  m.created_at as since, token.*`;
const source = `membership m join account a on a.id = m.account_id
  cross join lateral (
    select count(*) filter (where ${isActiveClient})::int as "activeTokens",
           count(*) > 0 as "hasHadTokens", max(c.last_used_at) as "lastUsedAt"
      from client c where c.account_id = a.id) token`;

const countMembers = (kind: AccountKind): string =>
  `(select count(*)::int from membership o join account a on a.id = o.account_id
     where o.facility_id = f.id and a.kind = '${kind}')`;

/** The facilities of the account $1. */
const facilitiesOfAccount = `select f.id, f.name, m.role, f.time_zone as "timeZone",
       f.requires_second_factor as "requiresSecondFactor", f.disabled_at is not null as "isDisabled", exists (
         select from membership o where o.account_id = $1 and o.facility_id <> f.id) as "hasOtherFacilities",
       ${countMembers('user')} as people, ${countMembers('service')} as "serviceAccounts"
  from membership m join facility f on f.id = m.facility_id where m.account_id = $1`;

export function createMemberStore(options: {
  readonly db: Database;
  readonly issuer: string;
  readonly mailer: Mailer;
  readonly sendLogoutTokens: () => void;
}) {
  const { db, issuer, mailer, sendLogoutTokens } = options;

  const find = (facilityId: string, accountId: string, on: Queryable = db) =>
    queryOne<Member>(on, `select ${columns} from ${source} where m.facility_id = $1 and a.id = $2`, [
      facilityId,
      accountId,
    ]);

  /** Gives the member the role `to`, or none, if that is permitted and the member is not the last owner. */
  const changeMember = (
    { facilityId, accountId, actorId }: { facilityId: string; accountId: string; actorId: string },
    isPermitted: (actor: ManagingRole, member: Member) => boolean,
    to: FacilityRole | undefined,
  ): Promise<RoleChange | { error: RoleChangeError }> =>
    transaction(db, async (tx) => {
      const actor = await lockFacilityAs(actorId, facilityId, tx);
      const member = actor && (await find(facilityId, accountId, tx));
      if (!actor || !member) return { error: 'not-found' };
      if (!isPermitted(actor, member)) return { error: 'not-permitted' };
      const solelyOwned = member.role === 'owner' ? await findSolelyOwned(tx, accountId) : [];
      if (solelyOwned.some(({ id }) => id === facilityId)) return { error: 'last-owner' };
      const withdrawnInvitations = await writeMemberships(tx, [{ facilityId, accountId, from: member.role, to }]);
      return { previousRole: member.role, withdrawnInvitations };
    });

  return {
    find,

    findFacility: (accountId: string, facilityId: string) =>
      queryOne<FacilityOfAccount>(db, `${facilitiesOfAccount} and f.id = $2`, [accountId, facilityId]),

    /** Returns false if the user is not an owner. */
    setSecondFactorRequired: (facilityId: string, isRequired: boolean, actorId: string): Promise<boolean> =>
      transaction(db, async (tx) => {
        if ((await lockFacilityAs(actorId, facilityId, tx)) !== 'owner') return false;
        await query(tx, 'update facility set requires_second_factor = $2 where id = $1', [facilityId, isRequired]);
        return true;
      }),

    findFacilities: (accountId: string) =>
      query<FacilityOfAccount>(db, `${facilitiesOfAccount} order by lower(f.name), f.id limit 1000`, [accountId]),

    findByFacility: (facilityId: string): Promise<readonly Member[]> =>
      query<Member>(
        db,
        `select ${columns} from ${source} where m.facility_id = $1
          order by array_position(array['owner', 'staff', 'facility-manager', 'bookings-manager'], m.role),
                   lower(coalesce(a.name, a.username)), a.id
          limit ${maxListedMembers}`,
        [facilityId],
      ),

    /** An owner who becomes staff can no longer invite staff, so these invitations are withdrawn. */
    changeRole: (facilityId: string, accountId: string, role: FacilityRole, actorId: string) =>
      changeMember(
        { facilityId, accountId, actorId },
        // The second of two simultaneous requests changes nothing and is not an error.
        (actor, member) => member.role === role || assignableRoles(actor, member.kind, member.role).includes(role),
        role,
      ),

    /** Returns the other facilities of the member. Mails the member. */
    async resetFactors(facilityId: string, accountId: string, actorId: string) {
      const outcome = await transaction(
        db,
        async (tx): Promise<{ facilityIds: readonly string[] } | { error: RoleChangeError }> => {
          const actor = await lockFacilityAs(actorId, facilityId, tx);
          const member = actor && (await find(facilityId, accountId, tx));
          if (!actor || !member) return { error: 'not-found' };
          if (!mayResetFactors(actor, accountId === actorId)) return { error: 'not-permitted' };
          await query(tx, 'select 1 as locked from account where id = $1 for no key update', [accountId]);
          const sql = `select ${accountColumns} from account a where a.id = $1`;
          const account = await queryOne<Account>(tx, sql, [accountId]);
          const email = account && (await resetFactors(tx, account, issuer));
          if (email) await mailer.enqueue(email, tx);
          const rows = await query<{ id: string }>(
            tx,
            'select facility_id as id from membership where account_id = $1 and facility_id <> $2 order by 1',
            [accountId, facilityId],
          );
          return { facilityIds: rows.map(({ id }) => id) };
        },
      );
      sendLogoutTokens();
      return outcome;
    },

    /** Withdraws the undecided invitations of the member. */
    revoke: (facilityId: string, accountId: string, actorId: string) =>
      changeMember(
        { facilityId, accountId, actorId },
        (actor, member) => mayRevoke(actor, member.role, accountId === actorId),
        undefined,
      ),
  };
}
