// What happens when an invitation's link is used? Account, role and the end of the link in one transaction, behind a lock on the
// invitation's row: of several at once one wins, and nothing is ever half done.
import { type Database, query } from '@bay-booking/service/database/database';
import { insertAccount, rolesOfNewUser } from '../accounts/store.ts';
import { hashSecret } from '../secrets.ts';
import { type AccountKind, type InvitableRole, kindFor } from './rules.ts';

export interface KnownAccount {
  readonly id: string;
  readonly kind: AccountKind;
  readonly disabled: boolean;
}

export type Acceptance =
  | { readonly accepted: true; readonly accountId: string }
  /** `gone`: used, withdrawn or expired meanwhile; `taken`: an account of the invited name was made meanwhile. */
  | { readonly accepted: false; readonly why: 'gone' | 'taken' };

interface Locked {
  readonly id: string;
  readonly facilityId: string;
  readonly email: string;
  readonly role: InvitableRole;
}

export type AcceptanceStore = ReturnType<typeof createAcceptanceStore>;

export function createAcceptanceStore({ db }: { db: Database }) {
  const lock = async (tx: Database, token: string): Promise<Locked | undefined> => {
    const [row] = await query<Locked>(
      tx,
      `select id, facility_id as "facilityId", email, role from invitation
        where token_sha256 = $1 and accepted_at is null and withdrawn_at is null and expires_at > now() for update`,
      [hashSecret(token)],
    );
    return row;
  };

  const join = async (tx: Database, { id, facilityId, role }: Locked, accountId: string): Promise<void> => {
    // Whoever got a role meanwhile keeps it, unless the invited one is more.
    await query(
      tx,
      `insert into membership (facility_id, account_id, role) values ($1, $2, $3)
       on conflict (facility_id, account_id) do update set role = excluded.role where membership.role = 'bookings-manager'`,
      [facilityId, accountId, role],
    );
    await query(tx, 'update invitation set accepted_at = now(), accepted_by = $2 where id = $1', [id, accountId]);
  };

  return {
    /** The account that signs in with the invited address. */
    async findInvited(email: string): Promise<KnownAccount | undefined> {
      const [row] = await query<KnownAccount>(
        db,
        'select id, kind, disabled_at is not null as disabled from account where lower(username) = lower($1)',
        [email],
      );
      return row;
    },

    acceptAs: (token: string, account: { id: string; kind: AccountKind }): Promise<Acceptance> =>
      db.transaction(async (tx) => {
        const invitation = await lock(tx, token);
        if (!invitation || kindFor(invitation.role) !== account.kind) return { accepted: false, why: 'gone' };
        await join(tx, invitation, account.id);
        return { accepted: true, accountId: account.id };
      }),

    /** Whoever has the mailed link reads the address: it is confirmed with that. */
    acceptAnew: (
      token: string,
      { name, passwordHash }: { name: string | null; passwordHash: string },
    ): Promise<Acceptance> =>
      db.transaction(async (tx) => {
        const invitation = await lock(tx, token);
        if (!invitation) return { accepted: false, why: 'gone' };
        const kind = kindFor(invitation.role);
        const created = await insertAccount(tx, {
          username: invitation.email,
          name,
          email: invitation.email,
          emailVerified: true,
          kind,
          roles: kind === 'service' ? [] : rolesOfNewUser,
          passwordHash,
        });
        if (!created) return { accepted: false, why: 'taken' };
        await join(tx, invitation, created.id);
        return { accepted: true, accountId: created.id };
      }),
  };
}
