// Chooses the folder for the data of PostgreSQL. The requested folder (DATA_DIR) is used if the account that runs
// PostgreSQL can write to it. Otherwise, for example if DATA_DIR is inside /root, the data are in a folder below
// /var/lib or /var/tmp, and a pointer file next to DATA_DIR contains the path of that folder.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Account, canWriteTo } from './account.ts';

export interface DataLocation {
  data: string;
  /** The folder for a copy of PostgreSQL's programs, if a copy is needed. */
  cache: string;
  /** Whether the data are in another folder than the requested one. */
  isMoved: boolean;
}

/**
 * Chooses the data folder, and creates it if it does not exist. If `account` is given, this account runs PostgreSQL,
 * and the current user is root. Otherwise, the current user runs PostgreSQL.
 * @throws {Error} if PostgreSQL cannot write to any possible folder
 */
export function chooseDataLocation(requested: string, account: Account | undefined): DataLocation {
  const parent = dirname(requested);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  if (!account) {
    requireWritableFolder(requested);
    return { data: requested, cache: parent, isMoved: false };
  }
  const pointerFile = `${requested}.location`;
  const movedData = existsSync(pointerFile) ? readFileSync(pointerFile, 'utf8').trim() : '';
  if (movedData) return useMovedData(movedData, requested, account);
  if (makeFolder(requested, account) && canWriteTo(requested, account))
    return { data: requested, cache: systemFolder(), isMoved: false };
  // Only a folder with data of PostgreSQL contains this file. Existing data are never replaced by empty data.
  if (existsSync(join(requested, 'PG_VERSION'))) {
    throw new Error(
      `user ${account.uid} owns ${requested} but cannot enter it: allow access to the folders above it (chmod a+x)`,
    );
  }
  // The new folder has a random name, so it is found only with the pointer file, which contains its path. If the
  // pointer file is deleted, the next start creates empty data. If the pointer file is moved together with the
  // repository, the next start finds the same data.
  const folder = mkdtempSync(join(systemFolder(), `${hashOf(requested)}-`));
  const location = useMovedData(join(folder, basename(requested)), requested, account);
  writeFileSync(pointerFile, `${location.data}\n`);
  // `makeFolder` above may have created the requested folder. It is empty, and no longer needed.
  if (existsSync(requested)) rmdirSync(requested);
  return location;
}

function requireWritableFolder(folder: string): void {
  makeFolder(folder, undefined);
  if (canWriteTo(folder, undefined)) return;
  throw new Error(
    `${folder} belongs to user ${statSync(folder).uid}, and you are user ${process.getuid?.()}. ` +
      'Change its owner (chown -R), or choose another DATA_DIR.',
  );
}

/**
 * Uses the folder `data` in place of the requested folder, and returns its location. Creates `data` if it does not
 * exist.
 * @throws {Error} if PostgreSQL cannot write to `data`
 */
function useMovedData(data: string, requested: string, account: Account): DataLocation {
  const folder = dirname(data);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  makeFolder(data, account);
  if (!canWriteTo(data, account))
    throw new Error(`user ${account.uid} can write neither to ${requested} nor to ${data}`);
  return { data, cache: dirname(folder), isMoved: true };
}

const hashOf = (path: string) => createHash('sha256').update(path).digest('hex').slice(0, 12);

/** Creates a folder that belongs to the account. Returns false if the file system does not permit the creation. */
function makeFolder(path: string, account: Account | undefined): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (account) chownSync(path, account.uid, account.gid);
    return true;
  } catch (error) {
    // EINVAL: in a rootless container, the kernel does not know the account.
    if (account && ['EPERM', 'EACCES', 'EROFS', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return false;
    throw error;
  }
}

/**
 * Returns a folder for data outside of DATA_DIR. This function runs only as root. Every user can create folders in
 * /var/tmp, so the function accepts only a folder that belongs to root and to which nobody else can write.
 */
function systemFolder(): string {
  for (const folder of ['/var/lib/bay-booking', '/var/tmp/bay-booking']) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      const { uid, mode } = statSync(folder);
      if (uid === 0 && (mode & 0o022) === 0) return folder;
    } catch {
      // The folder cannot be used. The next one is tried.
    }
  }
  throw new Error('neither /var/lib/bay-booking nor /var/tmp/bay-booking can be used for the data of PostgreSQL');
}
