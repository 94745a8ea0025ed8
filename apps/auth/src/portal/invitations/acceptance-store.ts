// Accepts invitations. The lock of the invitation ensures that only one use of its link succeeds.
import { type Database, type Queryable, query, queryOne, transaction } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import { type Account, type AccountKind, insertAccount, rolesOfNewUser } from '../../accounts/store.ts';
import { addMembership } from '../../facilities/membership-store.ts';
import { canonicalName } from '../../input/username.ts';
import { accountKindFor } from '../rules.ts';
import { type Invitation, replaceableCondition } from './invitation-store.ts';

export interface InvitedAccount {
  readonly kind: AccountKind;
  readonly isReplaceable: boolean;
}

export type Acceptance =
  | { readonly accountId: string }
  /** `username-taken`: the invitation may not replace the account with the invited address. */
  | { readonly error: 'not-open' | 'username-taken' };

type LockedInvitation = Pick<Invitation, 'id' | 'facilityId' | 'email' | 'role'>;

export function createAcceptanceStore({ db }: { db: Database }) {
  const lockInvitation = (tx: Queryable, token: string): Promise<LockedInvitation | undefined> =>
    queryOne<LockedInvitation>(
      tx,
      `select i.id, i.facility_id as "facilityId", i.email, i.role
         from invitation i join facility f on f.id = i.facility_id and f.disabled_at is null
        where i.token_sha256 = $1 and i.accepted_at is null and i.withdrawn_at is null and i.expires_at > now()
          for update of i`,
      [hashSecret(token)],
    );

  const accept = async (
    tx: Queryable,
    { id, facilityId, role }: LockedInvitation,
    accountId: string,
  ): Promise<Acceptance> => {
    await addMembership(tx, accountId, { facilityId, role });
    await query(tx, 'update invitation set accepted_at = now(), accepted_by = $2 where id = $1', [id, accountId]);
    return { accountId };
  };

  return {
    findInvitedAccount: (email: string): Promise<InvitedAccount | undefined> =>
      queryOne<InvitedAccount>(
        db,
        `select a.kind, ${replaceableCondition} as "isReplaceable" from account a where a.username_key = $1`,
        [canonicalName(email)],
      ),

    acceptWithAccount: (token: string, account: Pick<Account, 'id' | 'kind'>): Promise<Acceptance> =>
      transaction(db, async (tx) => {
        const invitation = await lockInvitation(tx, token);
        if (!invitation || accountKindFor(invitation.role) !== account.kind) return { error: 'not-open' };
        return accept(tx, invitation, account.id);
      }),

    /** The e-mail address counts as confirmed, because only its owner gets the link. */
    acceptWithNewAccount: (
      token: string,
      { name, passwordHash }: { name: string | null; passwordHash: string },
    ): Promise<Acceptance> =>
      transaction(db, async (tx) => {
        const invitation = await lockInvitation(tx, token);
        if (!invitation) return { error: 'not-open' };
        const kind = accountKindFor(invitation.role);
        // `a.kind <> $2` excludes accounts of people from invitations for people. Deleting the sessions and grants of
        // the replaced account ends all its tokens.
        await query(
          tx,
          `with replaced as (
             delete from account a where a.username_key = $1 and a.kind <> $2 and ${replaceableCondition}
             returning a.id)
           delete from oidc_artifact t using replaced r where t.account_id = r.id`,
          [canonicalName(invitation.email), kind],
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
