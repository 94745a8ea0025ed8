// Who was invited where, as what? The SQL of invitation. Every change that depends on who asks locks the facility's row first, so that
// somebody whose role is being taken away cannot win a race against it.
import { randomBytes } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';
import type { FacilityRole } from '../facilities/store.ts';
import { hashSecret, randomToken } from '../secrets.ts';
import { type InvitableRole, kindFor, managesPeople, mayInvite } from './rules.ts';

export interface Invitation {
  readonly id: string;
  readonly facilityId: string;
  readonly facilityName: string;
  readonly email: string;
  readonly role: InvitableRole;
  readonly invitedBy: string | null;
  readonly sentAt: Date;
  readonly expiresAt: Date;
  readonly expired: boolean;
  readonly state: 'open' | 'accepted' | 'withdrawn' | 'expired';
}

/** An invitation whose link was just made. */
export interface SentInvitation extends Invitation {
  readonly token: string;
}

export type InviteRefusal = 'not-permitted' | 'already-member' | 'already-invited' | 'other-kind' | 'too-many';

/** Seconds. */
export const invitationLifetime = 7 * 24 * 3600;
/** People and open invitations of one facility, so that every list is whole. */
export const peopleAtMost = 500;

export type InvitationStore = ReturnType<typeof createInvitationStore>;

const columns = `i.id, i.facility_id as "facilityId", f.name as "facilityName", i.email, i.role,
  coalesce(b.name, b.username) as "invitedBy", i.sent_at as "sentAt", i.expires_at as "expiresAt",
  i.expires_at <= now() as expired,
  case when i.accepted_at is not null then 'accepted' when i.withdrawn_at is not null then 'withdrawn'
       when i.expires_at <= now() then 'expired' else 'open' end as state`;
const source = 'invitation i join facility f on f.id = i.facility_id left join account b on b.id = i.invited_by';
const isOpen = 'accepted_at is null and withdrawn_at is null';

/** The role as it is now and stays until the transaction ends. Undefined where nobody may see the people. */
export async function lockRole(
  tx: Database,
  facilityId: string,
  accountId: string,
): Promise<'owner' | 'staff' | undefined> {
  await query(tx, 'select 1 as locked from facility where id = $1 for no key update', [facilityId]);
  const [row] = await query<{ role: FacilityRole }>(
    tx,
    `select m.role from membership m join account a on a.id = m.account_id and a.disabled_at is null
      where m.facility_id = $1 and m.account_id = $2`,
    [facilityId, accountId],
  );
  return row && managesPeople(row.role) ? row.role : undefined;
}

export function createInvitationStore({ db }: { db: Database }) {
  const find = async (facilityId: string, id: string, on: Database = db): Promise<Invitation | undefined> =>
    (
      await query<Invitation>(on, `select ${columns} from ${source} where i.facility_id = $1 and i.id = $2`, [
        facilityId,
        id,
      ])
    )[0];

  const renew = async (
    tx: Database,
    { facilityId, id, role, invitedBy }: { facilityId: string; id: string; role: InvitableRole; invitedBy: string },
  ): Promise<SentInvitation> => {
    const token = randomToken();
    await query(
      tx,
      `update invitation set token_sha256 = $3, role = $4, invited_by = $5, sent_at = now(),
              expires_at = now() + make_interval(secs => $6)
        where facility_id = $1 and id = $2`,
      [facilityId, id, hashSecret(token), role, invitedBy, invitationLifetime],
    );
    return { ...((await find(facilityId, id, tx)) as Invitation), token };
  };

  return {
    openOf: (facilityId: string): Promise<readonly Invitation[]> =>
      query<Invitation>(
        db,
        `select ${columns} from ${source} where i.facility_id = $1 and i.accepted_at is null and i.withdrawn_at is null
          order by i.sent_at desc, i.id limit ${peopleAtMost}`,
        [facilityId],
      ),

    find,

    async findByToken(token: string): Promise<Invitation | undefined> {
      const [row] = await query<Invitation>(db, `select ${columns} from ${source} where i.token_sha256 = $1`, [
        hashSecret(token),
      ]);
      return row;
    },

    async create(wanted: {
      facilityId: string;
      email: string;
      role: InvitableRole;
      actorId: string;
    }): Promise<{ sent: SentInvitation } | { refused: InviteRefusal }> {
      const { facilityId, email, role, actorId } = wanted;
      return db.transaction(async (tx) => {
        const actor = await lockRole(tx, facilityId, actorId);
        if (!actor || !mayInvite(actor, role)) return { refused: 'not-permitted' };
        const [known] = await query<{ member: boolean; otherKind: boolean; people: number }>(
          tx,
          `select exists (select from membership m join account a on a.id = m.account_id
                           where m.facility_id = $1 and lower(a.username) = lower($2)) as member,
                  exists (select from account a where lower(a.username) = lower($2) and a.kind <> $3) as "otherKind",
                  (select count(*)::int from membership m where m.facility_id = $1)
                    + (select count(*)::int from invitation i where i.facility_id = $1 and i.accepted_at is null and i.withdrawn_at is null) as people`,
          [facilityId, email, kindFor(role)],
        );
        if (known?.member) return { refused: 'already-member' };
        if (known?.otherKind) return { refused: 'other-kind' };
        const [open] = await query<{ id: string; expired: boolean }>(
          tx,
          `select id, expires_at <= now() as expired from invitation
            where facility_id = $1 and lower(email) = lower($2) and ${isOpen}`,
          [facilityId, email],
        );
        if (open && !open.expired) return { refused: 'already-invited' };
        if (open) return { sent: await renew(tx, { facilityId, id: open.id, role, invitedBy: actorId }) };
        if ((known?.people ?? 0) >= peopleAtMost) return { refused: 'too-many' };
        // What was decided long ago is in the history; the rows only told late visitors what became of their link.
        await query(
          tx,
          `delete from invitation where facility_id = $1 and coalesce(accepted_at, withdrawn_at) < now() - interval '90 days'`,
          [facilityId],
        );
        const token = randomToken();
        const id = `inv-${randomBytes(12).toString('base64url')}`;
        await query(
          tx,
          `insert into invitation (id, facility_id, email, role, token_sha256, invited_by, expires_at)
           values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))`,
          [id, facilityId, email, role, hashSecret(token), actorId, invitationLifetime],
        );
        return { sent: { ...((await find(facilityId, id, tx)) as Invitation), token } };
      });
    },

    /** A new link for seven more days; the mailed one ends. */
    async resend(
      facilityId: string,
      id: string,
      actorId: string,
    ): Promise<{ sent: SentInvitation } | { refused: 'not-permitted' | 'not-open' }> {
      return db.transaction(async (tx) => {
        const actor = await lockRole(tx, facilityId, actorId);
        const invitation = actor && (await find(facilityId, id, tx));
        if (!actor || !invitation) return { refused: 'not-open' };
        if (!mayInvite(actor, invitation.role)) return { refused: 'not-permitted' };
        if (invitation.state !== 'open' && invitation.state !== 'expired') return { refused: 'not-open' };
        return { sent: await renew(tx, { facilityId, id, role: invitation.role, invitedBy: actorId }) };
      });
    },

    async withdraw(
      facilityId: string,
      id: string,
      actorId: string,
    ): Promise<{ withdrawn: Invitation } | { refused: 'not-permitted' | 'not-open' }> {
      return db.transaction(async (tx) => {
        const actor = await lockRole(tx, facilityId, actorId);
        const invitation = actor && (await find(facilityId, id, tx));
        if (!actor || !invitation) return { refused: 'not-open' };
        if (!mayInvite(actor, invitation.role)) return { refused: 'not-permitted' };
        const rows = await query(
          tx,
          `update invitation set withdrawn_at = now() where facility_id = $1 and id = $2 and ${isOpen} returning id`,
          [facilityId, id],
        );
        return rows.length === 1 ? { withdrawn: invitation } : { refused: 'not-open' };
      });
    },
  };
}
