// Chooses the folder for PostgreSQL's data. If the account that runs PostgreSQL cannot enter the requested folder, for
// example inside /root, the data are in a folder below /var/lib or /var/tmp. A pointer file next to the requested
// folder contains the other folder's path.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Account, canWriteTo } from './account.ts';

export interface DataLocation {
  data: string;
  /** The folder for a copy of PostgreSQL's programs, if one is needed. */
  cache: string;
  isMoved: boolean;
}

/** Also creates the folder. If `account` is set, the current user is root and this account runs PostgreSQL. */
export function chooseDataLocation(requested: string, account: Account | undefined): DataLocation {
  mkdirSync(dirname(requested), { recursive: true, mode: 0o755 });
  const pointerFile = `${requested}.location`;
  if (account && existsSync(pointerFile)) {
    const data = readFileSync(pointerFile, 'utf8').trim();
    requireWritable(data, account);
    return { data, cache: dirname(dirname(data)), isMoved: true };
  }
  if (!account) {
    requireWritable(requested, account);
    return { data: requested, cache: dirname(requested), isMoved: false };
  }
  const cache = systemFolder();
  if (makeFolder(requested, account) && canWriteTo(requested, account))
    return { data: requested, cache, isMoved: false };
  // Existing data are never replaced by empty data.
  if (existsSync(join(requested, 'PG_VERSION'))) throw notWritable(requested, account);
  const folder = mkdtempSync(join(cache, 'data-'));
  chmodSync(folder, 0o755);
  const data = join(folder, basename(requested));
  requireWritable(data, account);
  writeFileSync(pointerFile, `${data}\n`);
  return { data, cache, isMoved: true };
}

function requireWritable(folder: string, account: Account | undefined): void {
  if (!makeFolder(folder, account) || !canWriteTo(folder, account)) throw notWritable(folder, account);
}

const notWritable = (folder: string, account: Account | undefined) =>
  new Error(
    `user ${account?.uid ?? process.getuid?.()} cannot write to ${folder}, which belongs to user ` +
      `${statSync(folder, { throwIfNoEntry: false })?.uid}. Change its owner (chown -R), allow access to the folders ` +
      'above it (chmod a+x), or choose another DATA_DIR.',
  );

/** Returns false if the file system does not permit a folder that belongs to the account. */
function makeFolder(path: string, account: Account | undefined): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (account) chownSync(path, account.uid, account.gid);
    return true;
  } catch (error) {
    // EINVAL: in a rootless container, the kernel does not know the account.
    if (['EPERM', 'EACCES', 'EROFS', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/**
 * Returns a folder for data outside DATA_DIR. Every user can create folders in /var/tmp, so the folder must belong to
 * root and be writable only by root.
 */
function systemFolder(): string {
  for (const folder of ['/var/lib/bay-booking', '/var/tmp/bay-booking']) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      const { uid, mode } = statSync(folder);
      if (uid === 0 && (mode & 0o022) === 0) return folder;
    } catch {
      // The loop tries the next folder.
    }
  }
  throw new Error('neither /var/lib/bay-booking nor /var/tmp/bay-booking can be used for the data of PostgreSQL');
}
