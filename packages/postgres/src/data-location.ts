// Chooses the folder for the data. The requested folder is used if the account that runs PostgreSQL can reach it. If it
// cannot, for example because the repository is inside /root, the data are in a folder below /var/lib, and a pointer
// file beside the requested folder contains that path.
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
  /** A folder for a copy of the binaries. */
  cache: string;
  moved: boolean;
}

const pointer = (requested: string) => `${requested}.location`;

export function chooseDataLocation(requested: string, account: Account | undefined): DataLocation {
  const parent = dirname(requested);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  if (!account) {
    makeFolder(requested, undefined);
    if (!canWriteTo(requested, undefined)) {
      const { uid } = statSync(requested);
      throw new Error(
        `${requested} belongs to user ${uid}, and you are user ${process.getuid?.()}. ` +
          'Change its owner (chown -R), or choose another DATA_DIR.',
      );
    }
    return { data: requested, cache: parent, moved: false };
  }
  const known = existsSync(pointer(requested)) ? readFileSync(pointer(requested), 'utf8').trim() : undefined;
  if (!known && makeFolder(requested, account) && canWriteTo(requested, account)) {
    return { data: requested, cache: systemFolder(), moved: false };
  }
  if (!known && existsSync(join(requested, 'PG_VERSION'))) {
    throw new Error(
      `user ${account.uid} owns ${requested} but cannot enter it: allow access to the folders above it (chmod a+x)`,
    );
  }
  // The name is new each time. A user who removes DATA_DIR with its pointer file starts with empty data, and a
  // checkout that was moved keeps its data.
  const folder = known ? dirname(known) : mkdtempSync(join(systemFolder(), `${fingerprint(requested)}-`));
  const data = known ?? join(folder, basename(requested));
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  makeFolder(data, account);
  if (!canWriteTo(data, account))
    throw new Error(`user ${account.uid} can write neither to ${requested} nor to ${data}`);
  if (!known) {
    writeFileSync(pointer(requested), `${data}\n`);
    if (existsSync(requested)) rmdirSync(requested);
  }
  return { data, cache: dirname(folder), moved: true };
}

const fingerprint = (path: string) => createHash('sha256').update(path).digest('hex').slice(0, 12);

function makeFolder(path: string, account: Account | undefined): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (account) chownSync(path, account.uid, account.gid);
    return true;
  } catch (error) {
    if (account && ['EPERM', 'EACCES', 'EROFS', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return false;
    throw error;
  }
}

// Only root uses this folder. In /var/tmp, another user could have created a folder of this name first.
function systemFolder(): string {
  for (const folder of ['/var/lib/bay-booking', '/var/tmp/bay-booking']) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      const { uid, mode } = statSync(folder);
      if (uid === 0 && (mode & 0o022) === 0) return folder;
    } catch {}
  }
  throw new Error('neither /var/lib/bay-booking nor /var/tmp/bay-booking can be used for the data of PostgreSQL');
}
