// Manages the folder DATA_DIR: creates it, locks it for one launcher at a time, and stores the secrets that the first
// start generates.
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
import { acquireLock, type Lock, LockedByAnotherProcess } from '@bay-booking/postgres/lock-file';

/**
 * Creates the folder if needed and locks it.
 * @throws {Error} if the folder cannot be used, or another launcher uses it
 */
export function lockDataFolder(folder: string): Lock {
  try {
    makeFolder(folder);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const owner = statSync(folder, { throwIfNoEntry: false })?.uid;
    const reason = owner === undefined ? '' : `, because it belongs to user ${owner}`;
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`DATA_DIR ${folder} cannot be used by user ${process.getuid?.()}${reason} (${code})`);
  }
  // If root runs the launcher, PostgreSQL runs as another user. A new folder gets mode 0711, so that this user can
  // enter the folder. The files with secrets have mode 0600.
  if (process.getuid?.() === 0 && readdirSync(folder).length === 0) chmodSync(folder, 0o711);
  try {
    return acquireLock(join(folder, 'launcher.pid'));
  } catch (error) {
    if (!(error instanceof LockedByAnotherProcess)) throw error;
    throw new Error(
      `npm start is already running: process ${error.pid} uses ${folder}. Set DATA_DIR to run a second system`,
    );
  }
}

/**
 * Creates the folder and its parents. The option `recursive` of mkdirSync is not used, because mkdirSync then never
 * returns for a path below /proc, where no folder can be created.
 */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // It is no error if another launcher has just created the folder.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** Writes a file that only its owner may read. If root writes the file, the owner of the folder becomes its owner. */
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
  webhookKey: string;
  /** The password of each database role. */
  passwords: Record<string, string>;
}

/** Reads the secrets. Generates the secrets that do not exist yet, and stores them. */
export function readSecrets(folder: string, roles: readonly string[]): Secrets {
  const path = join(folder, 'secrets.json');
  const stored = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Partial<Secrets>) : {};
  const secrets: Secrets = {
    cookieKeys: stored.cookieKeys ?? randomBytes(32).toString('base64url'),
    keyEncryptionKey: stored.keyEncryptionKey ?? randomBytes(32).toString('base64'),
    webhookKey: stored.webhookKey ?? randomBytes(32).toString('base64'),
    passwords: Object.fromEntries(
      roles.map((role) => [role, stored.passwords?.[role] ?? randomBytes(24).toString('base64url')]),
    ),
  };
  writePrivately(folder, 'secrets.json', `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}
