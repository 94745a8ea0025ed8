// DATA_DIR: made when missing, held by one launcher at a time, and home of the secrets that are made once.
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { claimPidFile, HeldByAnotherProcess, type PidFile } from '@bay-booking/postgres/pid-file';

export function holdDataFolder(folder: string): PidFile {
  try {
    makeFolder(folder);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const owner = statSync(folder, { throwIfNoEntry: false })?.uid;
    throw new Error(
      `DATA_DIR ${folder} cannot be used by user ${process.getuid?.()}` +
        `${owner === undefined ? '' : `, since it belongs to user ${owner}`} (${(error as NodeJS.ErrnoException).code})`,
    );
  }
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

/** `recursive` of mkdir tries for ever where a folder that is there takes nothing in, as /proc does. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another launcher may have been faster.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** For its owner's eyes; what root writes into somebody else's folder still belongs to them. */
export function writePrivately(folder: string, name: string, text: string): void {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  const { uid, gid } = statSync(folder);
  if (process.getuid?.() === 0) chownSync(`${path}.new`, uid, gid);
  renameSync(`${path}.new`, path);
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
  writePrivately(folder, 'secrets.json', `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}
