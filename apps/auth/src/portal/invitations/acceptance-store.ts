// Accepts invitations. One transaction creates the account if it is new, gives it the role, and marks the invitation as
// accepted. The transaction locks the invitation, so that only one use of its link succeeds.
import { type Database, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import { type Account, type AccountKind, insertAccount, rolesOfNewUser } from '../../accounts/store.ts';
import { hashSecret } from '../../secrets.ts';
import { accountKindFor, type InvitableRole } from '../rules.ts';

export interface InvitedAccount {
  readonly kind: AccountKind;
  /** Whether a new service account may replace this account: an unconfirmed account of a person without any role. */
  readonly isReplaceable: boolean;
}

export type Acceptance =
  | { readonly accountId: string }
  /**
   * - `not-open`: the invitation was accepted or withdrawn, or has expired, or its role does not fit the account's kind
   * - `username-taken`: an account with the invited address exists, and the invitation may not replace the account
   */
  | { readonly error: 'not-open' | 'username-taken' };

interface LockedInvitation {
  readonly id: string;
  readonly facilityId: string;
  readonly email: string;
  readonly role: InvitableRole;
}

/**
 * The SQL condition under which an invitation may replace the account `a` of a person by a service account: nobody has
 * confirmed the e-mail address of the account, and the account has no role at any facility.
 */
export const replaceableCondition = `a.kind = 'user' and a.email is not null and not a.email_verified
  and not exists (select from membership m where m.account_id = a.id)`;

export type AcceptanceStore = ReturnType<typeof createAcceptanceStore>;

export function createAcceptanceStore({ db }: { db: Database }) {
  /** Returns undefined if the invitation of the link was accepted or withdrawn, or has expired. */
  const lockInvitation = async (tx: Queryable, token: string): Promise<LockedInvitation | undefined> => {
    const [row] = await query<LockedInvitation>(
      tx,
      `select id, facility_id as "facilityId", email, role from invitation
        where token_sha256 = $1 and accepted_at is null and withdrawn_at is null and expires_at > now() for update`,
      [hashSecret(token)],
    );
    return row;
  };

  const accept = async (
    tx: Queryable,
    { id, facilityId, role }: LockedInvitation,
    accountId: string,
  ): Promise<Acceptance> => {
    // The account may have got a role at the facility after the invitation was sent. It keeps this role, except for
    // `bookings-manager`, the role with the fewest rights.
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
      const [row] = await query<InvitedAccount>(
        db,
        `select a.kind, ${replaceableCondition} as "isReplaceable" from account a where lower(a.username) = lower($1)`,
        [email],
      );
      return row;
    },

    acceptWithAccount: (token: string, account: Pick<Account, 'id' | 'kind'>): Promise<Acceptance> =>
      transaction(db, async (tx) => {
        const invitation = await lockInvitation(tx, token);
        if (!invitation || accountKindFor(invitation.role) !== account.kind) return { error: 'not-open' };
        return accept(tx, invitation, account.id);
      }),

    /**
     * Creates an account, and accepts the invitation for this account. The e-mail address of the account counts as
     * confirmed, because only the owner of the address gets the link.
     */
    acceptWithNewAccount: (
      token: string,
      { name, passwordHash }: { name: string | null; passwordHash: string },
    ): Promise<Acceptance> =>
      transaction(db, async (tx) => {
        const invitation = await lockInvitation(tx, token);
        if (!invitation) return { error: 'not-open' };
        const kind = accountKindFor(invitation.role);
        // An invitation for a service account may replace the account of a person. An invitation for a person replaces
        // no account, because `a.kind <> $2` then excludes the accounts of people. The sessions and grants of the
        // replaced account are also deleted, which ends all its tokens.
        await query(
          tx,
          `with replaced as (
             delete from account a where lower(a.username) = lower($1) and a.kind <> $2 and ${replaceableCondition}
             returning a.id)
           delete from oidc_artifact t using replaced r where t.account_id = r.id`,
          [invitation.email, kind],
        );
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
