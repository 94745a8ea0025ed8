// Who exists, and by which names? The SQL of account and social_identity. An account is found by its own name or by a provider's user id,
// never by e-mail alone (contract section 4).
import { randomBytes } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';

export interface Account {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly kind: 'user' | 'service';
  readonly roles: readonly string[];
  readonly passwordHash: string | null;
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

export interface SocialIdentity {
  readonly provider: string;
  readonly subject: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly emailVerified?: boolean | undefined;
}

export interface LinkedIdentity {
  readonly provider: string;
  readonly subject: string;
  readonly email: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
}

export interface NewAccount {
  readonly username: string;
  readonly name?: string | null;
  readonly email?: string | null;
  readonly emailVerified?: boolean;
  readonly kind?: 'user' | 'service';
  readonly roles?: readonly string[];
  readonly passwordHash?: string | null;
}

export type AccountStore = ReturnType<typeof createAccountStore>;

const columns = `a.id, a.username, a.name, a.email, a.email_verified as "emailVerified", a.kind, a.roles,
  a.password_hash as "passwordHash", a.disabled_at as "disabledAt", a.created_at as "createdAt"`;

/** What everybody who joins by themselves is. */
const rolesOfNewcomers = ['player'];

// PostgreSQL's text holds no NUL, which anybody can type into a form.
const clean = (text: string): string => text.replaceAll('\0', '');

export function createAccountStore({ db }: { db: Database }) {
  const one = async (sql: string, bindings: readonly unknown[], on: Database = db): Promise<Account | undefined> =>
    (await query<Account>(on, sql, bindings))[0];

  const findBySocial = (provider: string, subject: string): Promise<Account | undefined> =>
    one(
      `update social_identity s set last_used_at = now() from account a
        where s.provider = $1 and s.subject = $2 and a.id = s.account_id returning ${columns}`,
      [provider, clean(subject)],
    );

  const insert = (account: NewAccount, on: Database = db): Promise<Account | undefined> =>
    one(
      `insert into account as a (id, username, name, email, email_verified, kind, roles, password_hash)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (lower(username)) do nothing returning ${columns}`,
      [
        `acc-${randomBytes(12).toString('base64url')}`,
        clean(account.username),
        account.name == null ? null : clean(account.name),
        account.email == null ? null : clean(account.email),
        account.emailVerified ?? false,
        account.kind ?? 'user',
        account.roles ?? rolesOfNewcomers,
        account.passwordHash ?? null,
      ],
      on,
    );

  const link = async (identity: SocialIdentity, accountId: string, on: Database = db): Promise<boolean> => {
    const rows = await query(
      on,
      `insert into social_identity (provider, subject, account_id, email) values ($1, $2, $3, $4)
       on conflict (provider, subject) do nothing returning account_id`,
      [
        identity.provider,
        clean(identity.subject),
        accountId,
        identity.email === undefined ? null : clean(identity.email),
      ],
    );
    return rows.length === 1;
  };

  return {
    findById: (id: string): Promise<Account | undefined> =>
      one(`select ${columns} from account a where a.id = $1`, [clean(id)]),

    findByUsername: (username: string): Promise<Account | undefined> =>
      one(`select ${columns} from account a where lower(a.username) = lower($1)`, [clean(username).trim()]),

    /** Undefined when the name is taken. */
    create: (account: NewAccount): Promise<Account | undefined> => insert(account),

    findBySocial,

    /** However many first logins race, the account is made once: the identity's key decides, and who loses leaves nothing behind. */
    async findOrCreateBySocial(identity: SocialIdentity): Promise<Account & { isNew: boolean }> {
      const known = await findBySocial(identity.provider, identity.subject);
      if (known) return { ...known, isNew: false };
      const transaction = await db.transaction();
      try {
        const made = await insert(
          {
            // Nobody types this name; an address would collide with people who registered with it.
            username: `${identity.provider}:${randomBytes(9).toString('base64url')}`,
            name: identity.name ?? null,
            email: identity.email ?? null,
            emailVerified: identity.email !== undefined && identity.emailVerified === true,
          },
          transaction,
        );
        if (made && (await link(identity, made.id, transaction))) {
          await transaction.commit();
          return { ...made, isNew: true };
        }
        await transaction.rollback();
      } catch (error) {
        await transaction.rollback().catch(() => {});
        throw error;
      }
      const winner = await findBySocial(identity.provider, identity.subject);
      if (!winner) throw new Error('a social identity was unlinked while somebody signed in with it');
      return { ...winner, isNew: false };
    },

    /** `taken`: the identity belongs to another account. */
    async linkSocial(accountId: string, identity: SocialIdentity): Promise<'linked' | 'taken'> {
      if (await link(identity, accountId)) return 'linked';
      const owner = await findBySocial(identity.provider, identity.subject);
      return owner?.id === accountId ? 'linked' : 'taken';
    },

    linkedIdentities: (accountId: string): Promise<readonly LinkedIdentity[]> =>
      query<LinkedIdentity>(
        db,
        `select provider, subject, email, created_at as "createdAt", last_used_at as "lastUsedAt"
           from social_identity where account_id = $1 order by provider, subject limit 50`,
        [accountId],
      ),

    /** Never the last way in: without a password one identity stays. The account's row is locked, so that two at once cannot both go. */
    async unlinkSocial(accountId: string, provider: string, subject: string): Promise<'unlinked' | 'last' | 'none'> {
      return db.transaction(async (tx) => {
        const account = await one(`select ${columns} from account a where a.id = $1 for update`, [accountId], tx);
        const linked = await query<LinkedIdentity>(
          tx,
          'select provider, subject from social_identity where account_id = $1',
          [accountId],
        );
        if (!linked.some((entry) => entry.provider === provider && entry.subject === subject)) return 'none';
        if (!account?.passwordHash && linked.length === 1) return 'last';
        await query(tx, 'delete from social_identity where account_id = $1 and provider = $2 and subject = $3', [
          accountId,
          provider,
          subject,
        ]);
        return 'unlinked';
      });
    },

    /** A link to reset the password that was mailed before ends: whoever may have it must not undo this. */
    async setPassword(accountId: string, passwordHash: string): Promise<void> {
      await query(
        db,
        `with ended as (delete from one_time_link where account_id = $1 and purpose = 'reset-password')
         update account set password_hash = $2, updated_at = now() where id = $1`,
        [accountId, passwordHash],
      );
    },

    /**
     * Whoever has the mailed link owns the address. If nobody had proven that before, the account may have been made by a stranger in the
     * owner's name: then the stranger's social identities go.
     */
    async recover(accountId: string, { passwordHash, email }: { passwordHash: string; email: string }): Promise<void> {
      await query(
        db,
        `with strangers as (
           delete from social_identity s using account a
            where a.id = $1 and s.account_id = a.id and not a.email_verified and lower(a.email) = lower($3))
         update account set password_hash = $2, updated_at = now(),
                email = coalesce(email, $3), email_verified = email_verified or lower(coalesce(email, $3)) = lower($3)
          where id = $1`,
        [accountId, passwordHash, email],
      );
    },

    async setName(accountId: string, name: string): Promise<void> {
      await query(db, 'update account set name = $2, updated_at = now() where id = $1', [accountId, clean(name)]);
    },

    /** Only the address that the link was mailed to: it may have changed since. */
    async verifyEmail(accountId: string, email: string): Promise<boolean> {
      const rows = await query(
        db,
        'update account set email_verified = true, updated_at = now() where id = $1 and lower(email) = lower($2) returning id',
        [accountId, email],
      );
      return rows.length === 1;
    },
  };
}
