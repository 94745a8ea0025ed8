// Reads and writes accounts' identities at social providers (table `social_identity`).
//
// The e-mail address does not identify an account, because it may belong to somebody else.
import { randomBytes } from 'node:crypto';
import {
  type Database,
  type Queryable,
  query,
  queryOne,
  Rollback,
  transaction,
} from '@bay-booking/service/database/database';
import type { Audit } from '../audit/audit.ts';
import { type Account, accountColumns, insertAccount, rolesOfNewUser } from './store.ts';

/** What a social provider reports about a user. */
export interface SocialIdentity {
  readonly provider: string;
  /** The provider's user id. */
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

export function createSocialIdentityStore({ db, audit }: { db: Database; audit: Pick<Audit, 'record'> }) {
  return {
    findAccount: (identity: SocialIdentity): Promise<Account | undefined> => findAccountAndRecordUse(db, identity),

    /** If two first sign-ins run at the same time, only one creates an account. */
    async findOrCreateAccount(identity: SocialIdentity): Promise<Account> {
      const known = await findAccountAndRecordUse(db, identity);
      if (known) return known;
      const created = await createAccount(db, identity);
      if (created) {
        const detail = { provider: identity.provider };
        audit.record({ kind: 'account.registered', accountId: created.id, detail });
        return created;
      }
      const createdByOther = await findAccountAndRecordUse(db, identity);
      if (!createdByOther) throw new Error('a social identity was unlinked while a user signed in with it');
      return createdByOther;
    },

    /** Returns `taken` if the identity belongs to another account, `unconfirmed` if `mayLinkIdentities` is false. */
    async link(accountId: string, identity: SocialIdentity): Promise<'linked' | 'taken' | 'unconfirmed'> {
      const account = await queryOne<Account>(db, `select ${accountColumns} from account a where a.id = $1`, [
        accountId,
      ]);
      if (!account || !mayLinkIdentities(account)) return 'unconfirmed';
      if (await insertIdentity(db, identity, accountId)) return 'linked';
      const owner = await findAccountAndRecordUse(db, identity);
      return owner?.id === accountId ? 'linked' : 'taken';
    },

    /** Returns at most 50 identities of an account. */
    list: (accountId: string): Promise<readonly LinkedIdentity[]> =>
      query<LinkedIdentity>(
        db,
        `select provider, subject, email, created_at as "createdAt", last_used_at as "lastUsedAt"
           from social_identity where account_id = $1 order by provider, subject limit 50`,
        [accountId],
      ),

    /**
     * Returns `last` and removes nothing if the account has no other way to sign in. A lock prevents two parallel
     * requests from removing the last two identities.
     */
    async unlink(accountId: string, provider: string, subject: string): Promise<'unlinked' | 'last' | 'none'> {
      return transaction(db, async (tx) => {
        const account = await queryOne<{ hasPassword: boolean }>(
          tx,
          'select password_hash is not null as "hasPassword" from account where id = $1 for update',
          [accountId],
        );
        const identities = await query<{ provider: string; subject: string }>(
          tx,
          'select provider, subject from social_identity where account_id = $1',
          [accountId],
        );
        if (!identities.some((other) => other.provider === provider && other.subject === subject)) return 'none';
        if (!account?.hasPassword && identities.length === 1) return 'last';
        await query(tx, 'delete from social_identity where account_id = $1 and provider = $2 and subject = $3', [
          accountId,
          provider,
          subject,
        ]);
        return 'unlinked';
      });
    },
  };
}

/**
 * Whether identities may be linked to an account. Nobody else must be able to own its e-mail address: an attacker could
 * create an account with a victim's e-mail address and link an identity. After the victim's password reset, the
 * attacker could still sign in with that identity.
 */
export const mayLinkIdentities = ({ username, email, emailVerified }: Account): boolean =>
  emailVerified || (email === null && !username.includes('@'));

const findAccountAndRecordUse = (db: Database, { provider, subject }: SocialIdentity) =>
  queryOne<Account>(
    db,
    `update social_identity s set last_used_at = now() from account a
      where s.provider = $1 and s.subject = $2 and a.id = s.account_id returning ${accountColumns}`,
    [provider, subject],
  );

/** Returns undefined if another request has inserted the identity first. */
async function createAccount(db: Database, identity: SocialIdentity): Promise<Account | undefined> {
  return transaction(db, async (tx) => {
    const account = await insertAccount(tx, {
      // The e-mail address is not used as the user name, because it may already be the user name of another account.
      username: `${identity.provider}:${randomBytes(9).toString('base64url')}`,
      name: identity.name ?? null,
      email: identity.email ?? null,
      emailVerified: identity.email !== undefined && identity.emailVerified === true,
      kind: 'user',
      roles: rolesOfNewUser,
      passwordHash: null,
    });
    if (account && (await insertIdentity(tx, identity, account.id))) return account;
    throw new Rollback<Account | undefined>(undefined);
  });
}

/** Returns false if the identity already belongs to an account. */
async function insertIdentity(db: Queryable, identity: SocialIdentity, accountId: string): Promise<boolean> {
  const email = identity.email ?? null;
  const rows = await query(
    db,
    `insert into social_identity (provider, subject, account_id, email) values ($1, $2, $3, $4)
     on conflict (provider, subject) do nothing returning account_id`,
    [identity.provider, identity.subject, accountId, email],
  );
  return rows.length === 1;
}
