// Stores and uses up the codes of second factors: the secrets of authenticator apps, and recovery codes.
import { type Database, type Queryable, query, queryOne } from '@bay-booking/service/database/database';
import { createSecretBox } from '@bay-booking/service/secret-box';
import type { HashedCodes } from '../accounts/record-store.ts';
import { hashRecoveryCode, stepOfCode } from './codes.ts';

/** Whether the account $1 has a second factor. */
export const hasFactor = `(exists (select from authenticator_app where account_id = $1)
  or exists (select from passkey where account_id = $1))`;

export async function storeRecoveryCodes(
  tx: Queryable,
  accountId: string,
  { hashes, salt }: HashedCodes,
): Promise<void> {
  await query(tx, 'delete from recovery_code where account_id = $1', [accountId]);
  await query(tx, 'insert into recovery_code (account_id, code_hash, salt) select $1, unnest($2::text[]), $3', [
    accountId,
    hashes,
    salt,
  ]);
}

const ownerOf = (accountId: string): string => `authenticator app of ${accountId}`;

export const encryptSecret = (secret: string, accountId: string, encryptionKeys: readonly Buffer[]): string =>
  createSecretBox(encryptionKeys).encrypt(secret, ownerOf(accountId));

/** @throws {Error} if none of the keys has encrypted it for this account */
export const decryptSecret = (encrypted: string, accountId: string, encryptionKeys: readonly Buffer[]): string =>
  createSecretBox(encryptionKeys).decrypt(encrypted, ownerOf(accountId));

export async function findSecret(on: Queryable, accountId: string, encryptionKeys: readonly Buffer[]) {
  const app = await queryOne<{ secret: string }>(
    on,
    'select secret_encrypted as secret from authenticator_app where account_id = $1',
    [accountId],
  );
  return app && decryptSecret(app.secret, accountId, encryptionKeys);
}

export async function useAuthenticatorCode(
  db: Database,
  accountId: string,
  code: string,
  encryptionKeys: readonly Buffer[],
): Promise<boolean> {
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
}

export async function useRecoveryCode(db: Database, accountId: string, code: string): Promise<boolean> {
  const row = await queryOne<{ salt: Buffer }>(db, 'select salt from recovery_code where account_id = $1 limit 1', [
    accountId,
  ]);
  if (!row) return false;
  const used = await query(
    db,
    `delete from recovery_code where account_id = $1 and code_hash = $2 and ${hasFactor} returning 1 as done`,
    [accountId, await hashRecoveryCode(code, row.salt)],
  );
  return used.length > 0;
}
