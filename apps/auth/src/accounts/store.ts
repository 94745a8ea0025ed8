// Stores the accounts of users and programs (table `account`).
import { randomBytes } from 'node:crypto';
import { type Database, type Queryable, query, queryOne, transaction } from '@bay-booking/service/database/database';
import type { UserMembership } from '../facilities/roles.ts';
import { canonicalName, readName } from '../input/username.ts';
import { endEverything, type KeptSession } from './end-access-store.ts';

export type AccountKind = 'user' | 'service';

export interface Account {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  /**
   * Whether the user has opened a link that was mailed to the e-mail address, or a provider or an import file says so.
   */
  readonly emailVerified: boolean;
  readonly kind: AccountKind;
  readonly roles: readonly string[];
  readonly passwordHash: string | null;
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

/** The account of a token. */
export interface AccountWithMemberships
  extends Pick<Account, 'id' | 'username' | 'name' | 'email' | 'emailVerified' | 'roles'> {
  readonly isDisabled: boolean;
  readonly memberships: readonly UserMembership[];
}

/** If the id is left out, a random id is created. */
export type NewAccount = Omit<Account, 'id' | 'disabledAt' | 'createdAt'> & { readonly id?: string };

/** The select list of `Account`. The table `account` needs the alias `a`. */
export const accountColumns = `a.id, a.username, a.name, a.email, a.email_verified as "emailVerified", a.kind, a.roles,
  a.password_hash as "passwordHash", a.disabled_at as "disabledAt", a.created_at as "createdAt"`;

/** The `AccountWithMemberships` with the alias `a`, as a JSON object. */
export const accountWithMemberships = `json_build_object('id', a.id, 'username', a.username, 'name', a.name,
  'email', a.email, 'emailVerified', a.email_verified, 'roles', a.roles, 'isDisabled', a.disabled_at is not null,
  'memberships', (
    select coalesce(json_agg(json_build_object('facilityId', f.id, 'role', m.role,
             'requiresSecondFactor', f.requires_second_factor) order by f.id), '[]')
      from membership m join facility f on f.id = m.facility_id where m.account_id = a.id and f.disabled_at is null))`;

/** The memberships of the account with the alias `a`, as a JSON array. */
export const membershipsOfAccount = `(
  select coalesce(jsonb_agg(jsonb_build_object('facilityId', m.facility_id, 'role', m.role) order by m.facility_id), '[]')
    from membership m where m.account_id = a.id)`;

/** Whether the account has an e-mail address that may belong to somebody else. */
export const hasUnconfirmedAddress = ({ email, emailVerified }: Pick<Account, 'email' | 'emailVerified'>): boolean =>
  email !== null && !emailVerified;

export const rolesOfNewUser: readonly string[] = ['player'];

/** PostgreSQL cannot store NUL characters in text, but a form can contain them. */
export const withoutNul = (text: string): string => text.replaceAll('\0', '');

const nullableWithoutNul = (text: string | null): string | null => (text === null ? null : withoutNul(text));

/** When the e-mail address of the account `a` was first verified. `infinity` if it is not verified. */
const provenAt = `case when a.email_verified then a.email_proven_at else 'infinity' end`;

/** An attacker may have added the factor `f` before the e-mail address of the account `a` was proved. */
const isUnprovenFactor = `f.account_id = a.id and a.email is not null
  and (not a.email_verified or f.created_at < a.email_proven_at)`;

export const newAccountId = (): string => `acc-${randomBytes(12).toString('base64url')}`;

/** Returns undefined if another account has it or had the id. */
export async function insertAccount(db: Queryable, account: NewAccount): Promise<Account | undefined> {
  const username = readName(account.username);
  const email = account.email === null ? undefined : readName(account.email);
  return queryOne<Account>(
    db,
    `insert into account as a (id, username, name, email, email_verified, kind, roles, password_hash, email_proven_at,
                               username_key, email_key)
     select $1, $2, $3, $4, $5, $6, $7, $8, case when $5 then now() end, $9, $10
      where not exists (select from deleted_account d where d.id = $1)
     on conflict (username_key) do nothing returning ${accountColumns}`,
    [
      account.id ?? newAccountId(),
      username.shown,
      nullableWithoutNul(account.name),
      email?.shown ?? null,
      account.emailVerified,
      account.kind,
      account.roles,
      account.passwordHash,
      username.key,
      email?.key ?? null,
    ],
  );
}

export type AccountStore = ReturnType<typeof createAccountStore>;

export function createAccountStore({ db }: { db: Database }) {
  return {
    findById: (id: string) =>
      queryOne<Account>(db, `select ${accountColumns} from account a where a.id = $1`, [withoutNul(id)]),

    /** Finds an account together with its roles at facilities, which most tokens depend on. */
    async findWithMemberships(id: string): Promise<AccountWithMemberships | undefined> {
      const found = await queryOne<{ account: AccountWithMemberships }>(
        db,
        `select ${accountWithMemberships} as account from account a where a.id = $1`,
        [withoutNul(id)],
      );
      return found?.account;
    },

    findByUsername: (username: string) =>
      queryOne<Account>(db, `select ${accountColumns} from account a where a.username_key = $1`, [
        canonicalName(username),
      ]),

    create: (account: NewAccount): Promise<Account | undefined> => insertAccount(db, account),

    /** Also ends what somebody else may have: access with the old password, and unused links for a reset. */
    setPassword: (accountId: string, passwordHash: string, kept: KeptSession): Promise<void> =>
      transaction(db, async (tx) => {
        await query(
          tx,
          `with ended as (delete from one_time_link where account_id = $1 and purpose = 'reset-password')
           update account set password_hash = $2, updated_at = now() where id = $1`,
          [accountId, passwordHash],
        );
        await endEverything(tx, accountId, kept);
      }),

    /**
     * Sets a new password for a user who opened a link that was mailed to `email`, which proves that the address
     * belongs to the user. Ends all access to the account.
     *
     * - Before the address was first verified, an attacker may have created the account with this address, linked
     *   identities and added factors. Those from before that time are removed.
     * - If the account has no e-mail address, its user name is one, and becomes its e-mail address.
     * - If an import has changed the e-mail address meanwhile, nothing is proved about the new one.
     */
    async recover(
      accountId: string,
      { passwordHash, email }: { passwordHash: string; email: string },
      tx: Queryable,
    ): Promise<void> {
      await query(
        tx,
        `with removed as (
           delete from social_identity s using account a
            where a.id = $1 and s.account_id = a.id and s.created_at < ${provenAt}),
         apps as (delete from authenticator_app f using account a where a.id = $1 and ${isUnprovenFactor} returning 1),
         keys as (delete from passkey f using account a where a.id = $1 and ${isUnprovenFactor} returning 1),
         codes as (
           delete from recovery_code
            where account_id = $1 and (exists (select from apps) or exists (select from keys)))
         update account a set password_hash = $2, updated_at = now(), email = coalesce(email, $3),
                email_key = coalesce(email_key, $4),
                email_verified = email_verified or coalesce(email_key, $4) = $4,
                email_proven_at = case when coalesce(email_key, $4) = $4 then least(${provenAt}, now())
                                       else email_proven_at end
          where id = $1`,
        [accountId, passwordHash, email, canonicalName(email)],
      );
      await endEverything(tx, accountId);
    },

    async setName(accountId: string, name: string): Promise<void> {
      await query(db, 'update account set name = $2, updated_at = now() where id = $1', [accountId, withoutNul(name)]);
    },

    /** Returns false if the account has another e-mail address now. */
    async verifyEmail(accountId: string, email: string, on: Queryable = db): Promise<boolean> {
      const rows = await query(
        on,
        `update account a set email_verified = true, email_proven_at = least(${provenAt}, now()), updated_at = now()
          where id = $1 and email_key = $2 returning id`,
        [accountId, canonicalName(email)],
      );
      return rows.length === 1;
    },

    /**
     * Removes the password, all social identities and all second factors of an account that somebody has created with
     * the e-mail address of another person, and ends all access to it. Returns false if `email` is no longer that of
     * the account, or if it was verified.
     */
    async disown(accountId: string, email: string, tx: Queryable): Promise<boolean> {
      const rows = await query(
        tx,
        `with disowned as (
           update account set password_hash = null, updated_at = now()
            where id = $1 and email_key = $2 and not email_verified returning id),
         removed as (delete from social_identity s using disowned d where s.account_id = d.id),
         apps as (delete from authenticator_app f using disowned d where f.account_id = d.id),
         keys as (delete from passkey f using disowned d where f.account_id = d.id),
         codes as (delete from recovery_code f using disowned d where f.account_id = d.id)
         select id from disowned`,
        [accountId, canonicalName(email)],
      );
      if (rows.length === 0) return false;
      await endEverything(tx, accountId);
      return true;
    },
  };
}
