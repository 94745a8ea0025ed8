// DATA_DIR: made when missing, held by one launcher at a time, and home of the secrets that are made once.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimPidFile, HeldByAnotherProcess, type PidFile } from '@bay-booking/postgres/pid-file';

export function holdDataFolder(folder: string): PidFile {
  mkdirSync(folder, { recursive: true });
  // The server runs as another user when we are root, and must get through; everything secret in here is 0600 itself.
  if (process.getuid?.() === 0 && readdirSync(folder).length === 0) chmodSync(folder, 0o711);
  try {
    return claimPidFile(join(folder, 'launcher.pid'));
  } catch (error) {
    if (!(error instanceof HeldByAnotherProcess)) throw error;
    throw new Error(
      `npm start is already running here: process ${error.pid} holds ${folder} (another DATA_DIR runs beside it)`,
    );
  }
}

export interface Secrets {
  cookieKeys: string;
  keyEncryptionKey: string;
  /** By role. */
  passwords: Record<string, string>;
}

export function readSecrets(folder: string, roles: readonly string[]): Secrets {
  const path = join(folder, 'secrets.json');
  const kept = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Partial<Secrets>) : {};
  const secrets: Secrets = {
    cookieKeys: kept.cookieKeys ?? randomBytes(32).toString('base64url'),
    keyEncryptionKey: kept.keyEncryptionKey ?? randomBytes(32).toString('base64'),
    passwords: Object.fromEntries(
      roles.map((role) => [role, kept.passwords?.[role] ?? randomBytes(24).toString('base64url')]),
    ),
  };
  writeFileSync(`${path}.new`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return secrets;
}
