// Chooses the operating system account that runs PostgreSQL, which does not run as root, and the folder of its data. If
// the account cannot enter the requested folder, for example inside /root, the data are in a folder below /var/lib. A
// pointer file next to the requested folder contains the other folder's path.
import { spawnSync } from 'node:child_process';
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

export interface ServerAccount {
  uid: number;
  gid: number;
}

/** Returns undefined if the current user runs the server. For root, the data folder's owner or `nobody` runs it. */
export function serverAccount(dataPath: string): ServerAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(dataPath, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  throw new Error('PostgreSQL does not run as root: start as another user, or set DATABASE_SERVER_URL');
}

/** Returns options that make `spawn` run a program as the account, in a folder that every user can enter. */
export const runAs = (account: ServerAccount | undefined) => ({ ...account, cwd: '/' });

/** The folder for data outside DATA_DIR and for a copy of PostgreSQL's programs, if root runs the launcher. */
export const systemFolder = '/var/lib/bay-booking';

/**
 * Creates the folder and returns its path. If `account` is set, the current user is root and this account runs
 * PostgreSQL.
 */
export function chooseDataLocation(requested: string, account: ServerAccount | undefined): string {
  mkdirSync(dirname(requested), { recursive: true });
  const pointerFile = `${requested}.location`;
  const data = account && existsSync(pointerFile) ? readFileSync(pointerFile, 'utf8').trim() : requested;
  if (canWriteTo(data, account)) return data;
  // Existing data are never replaced by empty data.
  if (!account || data !== requested || existsSync(join(data, 'PG_VERSION'))) throw notWritable(data, account);
  mkdirSync(systemFolder, { recursive: true });
  const folder = mkdtempSync(join(systemFolder, 'data-'));
  chmodSync(folder, 0o755);
  const moved = join(folder, basename(requested));
  if (!canWriteTo(moved, account)) throw notWritable(moved, account);
  writeFileSync(pointerFile, `${moved}\n`);
  return moved;
}

const notWritable = (folder: string, account: ServerAccount | undefined) =>
  new Error(
    `user ${account?.uid ?? process.getuid?.()} cannot write to ${folder}. Change its owner (chown -R), allow access ` +
      'to the folders above it (chmod a+x), or choose another DATA_DIR',
  );

/**
 * Creates the folder for the account if it does not exist. The folder's mode does not show whether the account can
 * write: access control lists, mount options and network file systems matter too.
 */
function canWriteTo(folder: string, account: ServerAccount | undefined): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (account) chownSync(folder, account.uid, account.gid);
  } catch (error) {
    // EINVAL: in a rootless container, the kernel does not know the account.
    if (['EPERM', 'EACCES', 'EROFS', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
  return spawnSync('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], runAs(account)).status === 0;
}
