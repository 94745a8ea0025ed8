// Stores the second factors of accounts: authenticator apps, passkeys and recovery codes.
import { type Database, type Queryable, query, Rollback, transaction } from '@bay-booking/service/database/database';
import { createSecretBox } from '@bay-booking/service/secret-box';
import type { HashedCodes } from '../accounts/record-schema.ts';
import { withoutNul } from '../accounts/store.ts';
import { hashRecoveryCode, hashRecoveryCodes, stepOfCode } from './codes.ts';

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

interface AuthenticatorApp {
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

export interface Factors {
  readonly passkeys: readonly StoredPasskey[];
  readonly authenticatorApp: AuthenticatorApp | undefined;
  readonly recoveryCodes: number;
}

export interface FactorSetUp {
  readonly recoveryCodes: readonly string[];
  /** Uses up the code with which the owner proves to read the e-mails of the account, or returns false. */
  readonly prove: (tx: Queryable) => Promise<boolean>;
}

/** `exists`: the factor exists, or the account has too many. Nothing is then used up. */
export type AddedFactor = { readonly isFirst: boolean } | 'exists' | 'unproven';

export type FactorStore = ReturnType<typeof createFactorStore>;

export const maxPasskeys = 20;

const passkeyColumns = `id, account_id as "accountId", name, public_key as "publicKey", transports,
  created_at as "createdAt", last_used_at as "lastUsedAt"`;
/** Whether the account $1 has a second factor. */
const hasFactor = `(exists (select from authenticator_app where account_id = $1)
  or exists (select from passkey where account_id = $1))`;
/** Whether a facility of the account $1 requires a second factor. */
const isRequired = `exists (select from membership m join facility f on f.id = m.facility_id
  where m.account_id = $1 and f.requires_second_factor)`;

async function storeRecoveryCodes(tx: Queryable, accountId: string, { hashes, salt }: HashedCodes): Promise<void> {
  await query(tx, 'delete from recovery_code where account_id = $1', [accountId]);
  await query(tx, 'insert into recovery_code (account_id, code_hash, salt) select $1, unnest($2::text[]), $3', [
    accountId,
    hashes,
    salt,
  ]);
}

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

const ownerOf = (accountId: string): string => `authenticator app of ${accountId}`;

/** @throws {Error} if none of the keys has encrypted it for this account */
export const decryptSecret = (encrypted: string, accountId: string, encryptionKeys: readonly Buffer[]): string =>
  createSecretBox(encryptionKeys).decrypt(encrypted, ownerOf(accountId));

/** An authenticator app that an import gives to an account, for demos and tests. */
export interface ImportedApp {
  readonly secret: string;
  readonly recoveryCodes: HashedCodes;
  readonly encryptionKeys: readonly Buffer[];
}

/** Whether the account has this authenticator app already. The codes that were used then stay used. */
export async function hasAuthenticatorApp(
  on: Queryable,
  accountId: string,
  { secret, encryptionKeys }: Pick<ImportedApp, 'secret' | 'encryptionKeys'>,
): Promise<boolean> {
  return (await findSecret(on, accountId, encryptionKeys)) === secret;
}

async function findSecret(on: Queryable, accountId: string, encryptionKeys: readonly Buffer[]) {
  const [app] = await query<{ secret: string }>(
    on,
    'select secret_encrypted as secret from authenticator_app where account_id = $1',
    [accountId],
  );
  return app && decryptSecret(app.secret, accountId, encryptionKeys);
}

export async function importAuthenticatorApp(
  tx: Queryable,
  accountId: string,
  { secret, recoveryCodes, encryptionKeys }: ImportedApp,
): Promise<void> {
  await query(
    tx,
    `insert into authenticator_app (account_id, secret_encrypted, last_step) values ($1, $2, 0)
     on conflict (account_id) do update set secret_encrypted = excluded.secret_encrypted, last_step = 0`,
    [accountId, createSecretBox(encryptionKeys).encrypt(secret, ownerOf(accountId))],
  );
  await storeRecoveryCodes(tx, accountId, recoveryCodes);
}

export function createFactorStore({ db, encryptionKeys }: { db: Database; encryptionKeys: readonly Buffer[] }) {
  const box = createSecretBox(encryptionKeys);
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
      const [before] = await query<{ has: boolean }>(tx, `select ${hasFactor} as has`, [accountId]);
      if (!(await add(tx))) throw new Rollback<AddedFactor>('exists');
      const isFirst = before?.has !== true;
      if (isFirst) await storeRecoveryCodes(tx, accountId, hashedCodes);
      return { isFirst };
    });
  };

  /** Runs `remove`, unless it would remove the last factor of an account that needs one. */
  const removeFactor = (
    accountId: string,
    remove: (tx: Queryable) => Promise<readonly object[]>,
  ): Promise<'removed' | 'not-found' | 'required'> =>
    transaction(db, async (tx) => {
      await lockAccount(tx, accountId);
      // With the lock, no owner can begin to require a second factor meanwhile.
      await query(
        tx,
        `select 1 as locked from facility where id in (select facility_id from membership where account_id = $1)
          order by id for share`,
        [accountId],
      );
      if ((await remove(tx)).length === 0) return 'not-found';
      const [after] = await query<{ has: boolean; required: boolean }>(
        tx,
        `select ${hasFactor} as has, ${isRequired} as required`,
        [accountId],
      );
      if (after?.has) return 'removed';
      if (after?.required) throw new LastFactorRequired();
      await query(tx, 'delete from recovery_code where account_id = $1', [accountId]);
      return 'removed';
    }).catch((error: unknown) => {
      if (error instanceof LastFactorRequired) return 'required';
      throw error;
    });

  const useAuthenticatorCode = async (accountId: string, code: string): Promise<boolean> => {
    const secret = await findSecret(db, accountId, encryptionKeys);
    const step = secret === undefined ? undefined : stepOfCode(secret, code);
    if (step === undefined) return false;
    const used = await query(
      db,
      `update authenticator_app set last_step = $2, last_used_at = now()
        where account_id = $1 and last_step < $2 returning 1 as done`,
      [accountId, step],
    );
    return used.length > 0;
  };

  const useRecoveryCode = async (accountId: string, code: string): Promise<boolean> => {
    const [row] = await query<{ salt: Buffer }>(db, 'select salt from recovery_code where account_id = $1 limit 1', [
      accountId,
    ]);
    if (!row) return false;
    const used = await query(
      db,
      `delete from recovery_code where account_id = $1 and code_hash = $2 and ${hasFactor} returning 1 as done`,
      [accountId, await hashRecoveryCode(code, row.salt)],
    );
    return used.length > 0;
  };

  return {
    async hasSecondFactor(accountId: string): Promise<boolean> {
      const [row] = await query<{ has: boolean }>(db, `select ${hasFactor} as has`, [accountId]);
      return row?.has === true;
    },

    /** Whether a facility of the account requires a second factor. */
    async isRequired(accountId: string): Promise<boolean> {
      const [row] = await query<{ required: boolean }>(db, `select ${isRequired} as required`, [accountId]);
      return row?.required === true;
    },

    async list(accountId: string): Promise<Factors> {
      const [passkeys, apps, codes] = await Promise.all([
        query<StoredPasskey>(
          db,
          `select ${passkeyColumns} from passkey where account_id = $1 order by created_at, id limit ${maxPasskeys}`,
          [accountId],
        ),
        query<AuthenticatorApp>(
          db,
          `select created_at as "createdAt", last_used_at as "lastUsedAt" from authenticator_app where account_id = $1`,
          [accountId],
        ),
        query<{ count: number }>(db, 'select count(*)::int as count from recovery_code where account_id = $1', [
          accountId,
        ]),
      ]);
      return { passkeys, authenticatorApp: apps[0], recoveryCodes: codes[0]?.count ?? 0 };
    },

    /** `code` comes from `readCode`. Each code works once. Returns which kind of code it was. */
    async useCode(accountId: string, code: string): Promise<'authenticator app' | 'recovery code' | undefined> {
      if (/^\d{6}$/.test(code)) {
        return (await useAuthenticatorCode(accountId, code)) ? 'authenticator app' : undefined;
      }
      return code !== '' && (await useRecoveryCode(accountId, code)) ? 'recovery code' : undefined;
    },

    async findPasskey(id: string): Promise<StoredPasskey | undefined> {
      const [passkey] = await query<StoredPasskey>(db, `select ${passkeyColumns} from passkey where id = $1`, [
        withoutNul(id),
      ]);
      return passkey;
    },

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
          [accountId, box.encrypt(secret, ownerOf(accountId)), step],
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
        const both = createSecretBox([newKey, ...encryptionKeys]);
        const rows = await query<{ accountId: string; secret: string }>(
          tx,
          'select account_id as "accountId", secret_encrypted as secret from authenticator_app for update',
          [],
        );
        for (const { accountId, secret } of rows) {
          const owner = ownerOf(accountId);
          await query(tx, 'update authenticator_app set secret_encrypted = $2 where account_id = $1', [
            accountId,
            both.encrypt(both.decrypt(secret, owner), owner),
          ]);
        }
      }),
  };
}

class LastFactorRequired extends Error {
  override readonly name = 'LastFactorRequired';
}
