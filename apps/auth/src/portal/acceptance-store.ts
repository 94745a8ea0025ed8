// Accepts invitations. Account, role and the end of the link are one transaction that locks the invitation, so of
// several acceptances in parallel one succeeds.
import { type Database, query } from '@bay-booking/service/database/database';
import { type AccountKind, insertAccount, rolesOfNewUser } from '../accounts/store.ts';
import { hashSecret } from '../secrets.ts';
import { accountKindFor, type InvitableRole } from './rules.ts';

export interface InvitedAccount {
  readonly id: string;
  readonly kind: AccountKind;
}

export type Acceptance =
  | { readonly accountId: string }
  /**
   * `not-open`: the link was used, withdrawn or has expired. `username-taken`: an account with the invited address was
   * created in the meantime.
   */
  | { readonly error: 'not-open' | 'username-taken' };

interface LockedInvitation {
  readonly id: string;
  readonly facilityId: string;
  readonly email: string;
  readonly role: InvitableRole;
}

export type AcceptanceStore = ReturnType<typeof createAcceptanceStore>;

export function createAcceptanceStore({ db }: { db: Database }) {
  const lockInvitation = async (tx: Database, token: string): Promise<LockedInvitation | undefined> => {
    const [row] = await query<LockedInvitation>(
      tx,
      `select id, facility_id as "facilityId", email, role from invitation
        where token_sha256 = $1 and accepted_at is null and withdrawn_at is null and expires_at > now() for update`,
      [hashSecret(token)],
    );
    return row;
  };

  const accept = async (
    tx: Database,
    { id, facilityId, role }: LockedInvitation,
    accountId: string,
  ): Promise<Acceptance> => {
    // An account that has got a role since then keeps it, unless the invitation gives more rights.
    await query(
      tx,
      `insert into membership (facility_id, account_id, role) values ($1, $2, $3)
       on conflict (facility_id, account_id) do update set role = excluded.role
         where membership.role = 'bookings-manager'`,
      [facilityId, accountId, role],
    );
    await query(tx, 'update invitation set accepted_at = now(), accepted_by = $2 where id = $1', [id, accountId]);
    return { accountId };
  };

  return {
    /** Finds the account whose user name is the invited address. */
    async findInvitedAccount(email: string): Promise<InvitedAccount | undefined> {
      const [row] = await query<InvitedAccount>(db, 'select id, kind from account where lower(username) = lower($1)', [
        email,
      ]);
      return row;
    },

    acceptWithAccount: (token: string, account: InvitedAccount): Promise<Acceptance> =>
      db.transaction(async (tx) => {
        const invitation = await lockInvitation(tx, token);
        if (!invitation || accountKindFor(invitation.role) !== account.kind) return { error: 'not-open' };
        return accept(tx, invitation, account.id);
      }),

    /** The e-mail address of the new account is confirmed, because only its owner can read the mailed link. */
    acceptWithNewAccount: (
      token: string,
      { name, passwordHash }: { name: string | null; passwordHash: string },
    ): Promise<Acceptance> =>
      db.transaction(async (tx) => {
        const invitation = await lockInvitation(tx, token);
        if (!invitation) return { error: 'not-open' };
        const kind = accountKindFor(invitation.role);
        const account = await insertAccount(tx, {
          username: invitation.email,
          name,
          email: invitation.email,
          emailVerified: true,
          kind,
          roles: kind === 'service' ? [] : rolesOfNewUser,
          passwordHash,
        });
        if (!account) return { error: 'username-taken' };
        return accept(tx, invitation, account.id);
      }),
  };
}
