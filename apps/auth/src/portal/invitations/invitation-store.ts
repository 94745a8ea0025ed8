// Stores invitations (table `invitation`).
import { randomBytes } from 'node:crypto';
import { type Database, type Queryable, query, queryOne, transaction } from '@bay-booking/service/database/database';
import { createFilteredList } from '@bay-booking/service/page-statements';
import { hashSecret, randomToken } from '@bay-booking/service/secret-box';
import type { FacilityRole } from '../../facilities/roles.ts';
import { canonicalName } from '../../input/username.ts';
import { lockFacilityAs } from '../facility-lock-store.ts';
import { accountKindFor, type InvitedRole, mayInvite } from '../rules.ts';

export interface Invitation {
  readonly id: string;
  readonly facilityId: string;
  readonly facilityName: string;
  readonly timeZone: string;
  /** Nobody can accept the invitation until an operator enables the facility. */
  readonly isFacilityDisabled: boolean;
  readonly email: string;
  readonly role: InvitedRole;
  readonly invitedBy: string | null;
  readonly inviterId: string | null;
  readonly sentAt: Date;
  readonly expiresAt: Date;
  readonly state: 'open' | 'accepted' | 'withdrawn' | 'expired';
}

export interface SentInvitation extends Invitation {
  /** The secret in the link. Only its hash is stored. */
  readonly token: string;
}

export type NewInvitation = Pick<Invitation, 'facilityId' | 'email' | 'role'> & {
  /** Null: an operator invites. */
  readonly actorId: string | null;
};

export type InvitationError =
  | 'not-permitted'
  | 'facility-disabled'
  | 'already-member'
  | 'already-invited'
  | 'other-kind'
  | 'too-many';
export type InvitationChangeError = 'not-permitted' | 'not-open';

const invitationLifetimeSeconds = 7 * 24 * 3600;
/** The maximum number of members and undecided invitations, so that a page can list all of them. */
export const maxMembers = 500;

/** The SQL expression for the state of the invitation `i`. */
const invitationState = `case when i.accepted_at is not null then 'accepted'
  when i.withdrawn_at is not null then 'withdrawn' when i.expires_at <= now() then 'expired' else 'open' end`;

const columns = `i.id, i.facility_id as "facilityId", f.name as "facilityName", f.time_zone as "timeZone",
  f.disabled_at is not null as "isFacilityDisabled", i.email, i.role,
  coalesce(inviter.name, inviter.username) as "invitedBy", inviter.id as "inviterId", i.sent_at as "sentAt", i.expires_at as "expiresAt",
  ${invitationState} as state`;
const source = `invitation i join facility f on f.id = i.facility_id
  left join account inviter on inviter.id = i.invited_by`;
/** An expired invitation can be sent again, so it is still undecided. */
const undecidedCondition = 'i.accepted_at is null and i.withdrawn_at is null';

/** A service account may replace an unconfirmed account of a person without any role. */
export const replaceableCondition = `a.kind = 'user' and a.email is not null and not a.email_verified
  and not exists (select from membership m where m.account_id = a.id)`;

export type InvitationStore = ReturnType<typeof createInvitationStore>;

export function createInvitationStore({ db }: { db: Database }) {
  const find = (facilityId: string, id: string, on: Queryable = db): Promise<Invitation | undefined> =>
    queryOne<Invitation>(on, `select ${columns} from ${source} where i.facility_id = $1 and i.id = $2`, [
      facilityId,
      id,
    ]);

  const storeWithNewLink = async (
    tx: Queryable,
    { id, facilityId, email, role, actorId }: NewInvitation & { id: string },
  ): Promise<{ sent: SentInvitation }> => {
    const token = randomToken();
    await query(
      tx,
      `insert into invitation (id, facility_id, email, email_key, role, token_sha256, invited_by, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))
       on conflict (id) do update set role = excluded.role, token_sha256 = excluded.token_sha256, sent_at = now(),
         invited_by = excluded.invited_by, expires_at = excluded.expires_at`,
      [id, facilityId, email, canonicalName(email), role, hashSecret(token), actorId, invitationLifetimeSeconds],
    );
    return { sent: { ...((await find(facilityId, id, tx)) as Invitation), token } };
  };

  /** An invitation of an operator replaces one that is still open. */
  const add = async (
    tx: Queryable,
    invitation: NewInvitation,
  ): Promise<{ sent: SentInvitation } | { error: InvitationError }> => {
    const { facilityId, email } = invitation;
    const isByOperator = invitation.actorId === null;
    const invitee = await findInvitee(tx, invitation);
    if (invitee.isFacilityDisabled) return { error: 'facility-disabled' };
    if (isByOperator ? invitee.role === 'owner' : invitee.role !== null) return { error: 'already-member' };
    if (invitee.isOtherKind) return { error: 'other-kind' };
    const previous = await queryOne<{ id: string; expired: boolean }>(
      tx,
      `select i.id, i.expires_at <= now() as expired from invitation i
        where i.facility_id = $1 and i.email_key = $2 and ${undecidedCondition} for update`,
      [facilityId, canonicalName(email)],
    );
    if (previous && !previous.expired && !isByOperator) return { error: 'already-invited' };
    // An expired invitation is already part of `peopleCount`.
    if (previous) return storeWithNewLink(tx, { ...invitation, id: previous.id });
    if (invitee.peopleCount >= maxMembers) return { error: 'too-many' };
    return storeWithNewLink(tx, { ...invitation, id: newInvitationId() });
  };

  /** Runs `change` if the invitation is undecided, and if the actor may change it. */
  const changeInvitation = <T>(
    { facilityId, id, actorId }: { facilityId: string; id: string; actorId: string },
    change: (tx: Queryable, invitation: Invitation) => Promise<T>,
  ): Promise<T | { error: InvitationChangeError }> =>
    transaction(db, async (tx) => {
      const actorRole = await lockFacilityAs(actorId, facilityId, tx);
      // A request that accepts an invitation does not lock the facility.
      await query(tx, 'select 1 as locked from invitation where facility_id = $1 and id = $2 for update', [
        facilityId,
        id,
      ]);
      const invitation = actorRole && (await find(facilityId, id, tx));
      if (!actorRole || !invitation) return { error: 'not-open' };
      if (!mayInvite(actorRole, invitation.role)) return { error: 'not-permitted' };
      if (invitation.state === 'accepted' || invitation.state === 'withdrawn') return { error: 'not-open' };
      return change(tx, invitation);
    });

  return {
    find,

    findUndecided: (facilityId: string): Promise<readonly Invitation[]> =>
      query<Invitation>(
        db,
        `select ${columns} from ${source} where i.facility_id = $1 and ${undecidedCondition}
          order by i.sent_at desc, i.id limit ${maxMembers}`,
        [facilityId],
      ),

    findByToken: (token: string): Promise<Invitation | undefined> =>
      queryOne<Invitation>(db, `select ${columns} from ${source} where i.token_sha256 = $1`, [hashSecret(token)]),

    create: (
      invitation: NewInvitation & { readonly actorId: string },
    ): Promise<{ sent: SentInvitation } | { error: InvitationError }> =>
      transaction(db, async (tx) => {
        const { facilityId, role, actorId } = invitation;
        const actorRole = await lockFacilityAs(actorId, facilityId, tx);
        if (!actorRole || !mayInvite(actorRole, role)) return { error: 'not-permitted' };
        return add(tx, invitation);
      }),

    /** If an invitation is still open, its previous link stops working. */
    async createForOwner(
      tx: Queryable,
      facilityId: string,
      email: string,
    ): Promise<{ sent: SentInvitation } | { error: InvitationError }> {
      await query(tx, 'select 1 as locked from facility where id = $1 for no key update', [facilityId]);
      return add(tx, { facilityId, email, role: 'owner', actorId: null });
    },

    /** The previous link stops working. */
    resend: (facilityId: string, id: string, actorId: string) =>
      changeInvitation({ facilityId, id, actorId }, (tx, { email, role }) =>
        storeWithNewLink(tx, { id, facilityId, email, role, actorId }),
      ),

    withdraw: (facilityId: string, id: string, actorId: string) =>
      changeInvitation({ facilityId, id, actorId }, async (tx, invitation) => {
        await query(tx, 'update invitation set withdrawn_at = now() where facility_id = $1 and id = $2', [
          facilityId,
          id,
        ]);
        return { withdrawn: invitation };
      }),
  };
}

/** For operators. */
export const listInvitations = createFilteredList<object>({
  columns: `i.id, i.facility_id as "facilityId", i.email, i.role, ${invitationState} as state,
    i.sent_at as "sentAt", i.expires_at as "expiresAt"`,
  from: 'from invitation i where true',
  orderBy: 'i.sent_at desc, i.id',
  conditions: { id: 'i.id = {id}', facilityId: 'i.facility_id = {facilityId}' },
});

/** For operators. Returns undefined if the invitation was accepted or withdrawn. */
export const withdrawInvitation = (tx: Queryable, id: string) =>
  queryOne<Pick<Invitation, 'facilityId' | 'email' | 'role'>>(
    tx,
    `update invitation i set withdrawn_at = now() where i.id = $1 and ${undecidedCondition}
     returning i.facility_id as "facilityId", i.email, i.role`,
    [id],
  );

const newInvitationId = (): string => `inv-${randomBytes(12).toString('base64url')}`;

interface Invitee {
  readonly isFacilityDisabled: boolean;
  /** The role that the account already has at the facility. */
  readonly role: FacilityRole | null;
  /** An account that the invitation may replace does not count. */
  readonly isOtherKind: boolean;
  readonly peopleCount: number;
}

async function findInvitee(tx: Queryable, { facilityId, email, role }: NewInvitation): Promise<Invitee> {
  const invitee = await queryOne<Invitee>(
    tx,
    `select exists (select from facility where id = $1 and disabled_at is not null) as "isFacilityDisabled",
            (select m.role from membership m join account a on a.id = m.account_id
              where m.facility_id = $1 and a.username_key = $2) as role,
            exists (select from account a where a.username_key = $2 and a.kind <> $3
                      and not (${replaceableCondition})) as "isOtherKind",
            (select count(*)::int from membership m where m.facility_id = $1)
              + (select count(*)::int from invitation i
                  where i.facility_id = $1 and ${undecidedCondition}) as "peopleCount"`,
    [facilityId, canonicalName(email), accountKindFor(role)],
  );
  // The statement always returns one row.
  return invitee as Invitee;
}
