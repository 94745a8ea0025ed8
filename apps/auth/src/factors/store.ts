// Stores the second factors of accounts: authenticator apps, passkeys and recovery codes.
import {
  type Database,
  type Queryable,
  query,
  queryOne,
  Rollback,
  transaction,
} from '@bay-booking/service/database/database';
import { withoutNul } from '../accounts/store.ts';
import { hashRecoveryCodes } from './codes.ts';
import {
  decryptSecret,
  encryptSecret,
  hasFactor,
  storeRecoveryCodes,
  useAuthenticatorCode,
  useRecoveryCode,
} from './codes-store.ts';

export interface StoredPasskey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly publicKey: Buffer;
  readonly transports: readonly string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

export type NewPasskey = Omit<StoredPasskey, 'createdAt' | 'lastUsedAt'>;

export interface Factors {
  readonly passkeys: readonly StoredPasskey[];
  /** Null if the account has no authenticator app. */
  readonly appSetUpAt: Date | null;
  readonly recoveryCodes: number;
}

export interface FactorSetUp {
  readonly recoveryCodes: readonly string[];
  /** Uses up the code with which the owner proves to read the e-mails of the account, or returns false. */
  readonly prove: (tx: Queryable) => Promise<boolean>;
}

/** `exists`: the factor exists, or the account has too many. Nothing is then used up. */
export type AddedFactor = { readonly isFirst: boolean } | 'exists' | 'unproven';

export type RemovedFactor = 'removed' | 'not-found' | 'required';

export type FactorStore = ReturnType<typeof createFactorStore>;

export const maxPasskeys = 20;

const passkeyColumns = `id, account_id as "accountId", name, public_key as "publicKey", transports,
  created_at as "createdAt", last_used_at as "lastUsedAt"`;
/** Whether a facility of the account $1 requires a second factor. */
const isRequired = `exists (select from membership m join facility f on f.id = m.facility_id
  where m.account_id = $1 and f.requires_second_factor)`;

/** Removes every factor of the account. */
export async function deleteFactors(tx: Queryable, accountId: string): Promise<void> {
  await query(
    tx,
    `with apps as (delete from authenticator_app where account_id = $1),
          keys as (delete from passkey where account_id = $1)
     delete from recovery_code where account_id = $1`,
    [accountId],
  );
}

export function createFactorStore({ db, encryptionKeys }: { db: Database; encryptionKeys: readonly Buffer[] }) {
  const lockAccount = (tx: Queryable, accountId: string) =>
    query(tx, 'select 1 as locked from account where id = $1 for no key update', [accountId]);

  /** Runs `add`, which returns false if the factor exists. The first factor comes with recovery codes. */
  const addFactor = async (
    accountId: string,
    { recoveryCodes, prove }: FactorSetUp,
    add: (tx: Queryable) => Promise<boolean>,
  ): Promise<AddedFactor> => {
    const hashedCodes = await hashRecoveryCodes(recoveryCodes);
    return transaction(db, async (tx): Promise<AddedFactor> => {
      await lockAccount(tx, accountId);
      if (!(await prove(tx))) return 'unproven';
      const before = await queryOne(tx, `select 1 as found where ${hasFactor}`, [accountId]);
      if (!(await add(tx))) throw new Rollback<AddedFactor>('exists');
      const isFirst = before === undefined;
      if (isFirst) await storeRecoveryCodes(tx, accountId, hashedCodes);
      return { isFirst };
    });
  };

  /** Runs `remove`, unless it would remove the last factor of an account that needs one. */
  const removeFactor = (
    accountId: string,
    remove: (tx: Queryable) => Promise<readonly object[]>,
  ): Promise<RemovedFactor> =>
    transaction(db, async (tx): Promise<RemovedFactor> => {
      await lockAccount(tx, accountId);
      // Until the commit, no owner can begin to require a second factor.
      await query(
        tx,
        `select 1 as locked from facility where id in (select facility_id from membership where account_id = $1)
          order by id for share`,
        [accountId],
      );
      if ((await remove(tx)).length === 0) return 'not-found';
      const after = await queryOne<{ has: boolean; required: boolean }>(
        tx,
        `select ${hasFactor} as has, ${isRequired} as required`,
        [accountId],
      );
      if (after?.has) return 'removed';
      if (after?.required) throw new Rollback<RemovedFactor>('required');
      await query(tx, 'delete from recovery_code where account_id = $1', [accountId]);
      return 'removed';
    });

  return {
    hasSecondFactor: async (accountId: string): Promise<boolean> =>
      (await queryOne(db, `select 1 as found where ${hasFactor}`, [accountId])) !== undefined,

    /** Whether a facility of the account requires a second factor. */
    isRequired: async (accountId: string): Promise<boolean> =>
      (await queryOne(db, `select 1 as found where ${isRequired}`, [accountId])) !== undefined,

    async list(accountId: string): Promise<Factors> {
      const [passkeys, codes] = await Promise.all([
        query<StoredPasskey>(
          db,
          `select ${passkeyColumns} from passkey where account_id = $1 order by created_at, id limit ${maxPasskeys}`,
          [accountId],
        ),
        query<Omit<Factors, 'passkeys'>>(
          db,
          `select (select created_at from authenticator_app where account_id = $1) as "appSetUpAt",
                  (select count(*)::int from recovery_code where account_id = $1) as "recoveryCodes"`,
          [accountId],
        ),
      ]);
      return { passkeys, ...(codes[0] as Omit<Factors, 'passkeys'>) };
    },

    /** `code` comes from `readCode`. Each code works once. Returns which kind of code it was. */
    async useCode(accountId: string, code: string): Promise<'authenticator app' | 'recovery code' | undefined> {
      if (/^\d{6}$/.test(code)) {
        return (await useAuthenticatorCode(db, accountId, code, encryptionKeys)) ? 'authenticator app' : undefined;
      }
      return code !== '' && (await useRecoveryCode(db, accountId, code)) ? 'recovery code' : undefined;
    },

    findPasskey: (id: string) =>
      queryOne<StoredPasskey>(db, `select ${passkeyColumns} from passkey where id = $1`, [withoutNul(id)]),

    async recordPasskeyUse(id: string): Promise<void> {
      await query(db, 'update passkey set last_used_at = now() where id = $1', [id]);
    },

    /** Returns false if the challenge was used before. */
    async useChallenge(challenge: string, seconds: number): Promise<boolean> {
      const rows = await query(
        db,
        `insert into used_challenge (challenge, expires_at) values ($1, now() + make_interval(secs => $2))
         on conflict do nothing returning 1 as done`,
        [challenge, seconds],
      );
      return rows.length > 0;
    },

    addPasskey: ({ id, accountId, name, publicKey, transports }: NewPasskey, setUp: FactorSetUp) =>
      addFactor(accountId, setUp, async (tx) => {
        const rows = await query(
          tx,
          `insert into passkey (id, account_id, name, public_key, transports, last_used_at)
           select $1, $2, $3, $4, $5, now() where (select count(*) from passkey where account_id = $2) < $6
           on conflict do nothing returning 1 as done`,
          [id, accountId, withoutNul(name), publicKey, transports, maxPasskeys],
        );
        return rows.length > 0;
      }),

    async renamePasskey(accountId: string, id: string, name: string): Promise<void> {
      await query(db, 'update passkey set name = $3 where account_id = $1 and id = $2', [
        accountId,
        id,
        withoutNul(name),
      ]);
    },

    removePasskey: (accountId: string, id: string) =>
      removeFactor(accountId, (tx) =>
        query(tx, 'delete from passkey where account_id = $1 and id = $2 returning 1 as done', [accountId, id]),
      ),

    /** Replaces the app of a lost phone. `step` is the step of the code that confirmed the set-up. */
    addAuthenticatorApp: (
      { accountId, secret, step }: { accountId: string; secret: string; step: number },
      setUp: FactorSetUp,
    ) =>
      addFactor(accountId, setUp, async (tx) => {
        await query(
          tx,
          `insert into authenticator_app (account_id, secret_encrypted, last_step, last_used_at)
           values ($1, $2, $3, now())
           on conflict (account_id) do update set secret_encrypted = excluded.secret_encrypted,
             last_step = excluded.last_step, created_at = now(), last_used_at = now()`,
          [accountId, encryptSecret(secret, accountId, encryptionKeys), step],
        );
        return true;
      }),

    removeAuthenticatorApp: (accountId: string) =>
      removeFactor(accountId, (tx) =>
        query(tx, 'delete from authenticator_app where account_id = $1 returning 1 as done', [accountId]),
      ),

    async replaceRecoveryCodes(accountId: string, codes: readonly string[]): Promise<void> {
      const hashedCodes = await hashRecoveryCodes(codes);
      await transaction(db, async (tx) => {
        await lockAccount(tx, accountId);
        await storeRecoveryCodes(tx, accountId, hashedCodes);
      });
    },

    /** Encrypts every secret with another key. */
    reencrypt: (newKey: Buffer): Promise<void> =>
      transaction(db, async (tx) => {
        const keys = [newKey, ...encryptionKeys];
        const rows = await query<{ accountId: string; secret: string }>(
          tx,
          'select account_id as "accountId", secret_encrypted as secret from authenticator_app for update',
          [],
        );
        for (const { accountId, secret } of rows) {
          await query(tx, 'update authenticator_app set secret_encrypted = $2 where account_id = $1', [
            accountId,
            encryptSecret(decryptSecret(secret, accountId, keys), accountId, keys),
          ]);
        }
      }),
  };
}
