// Chooses the folder for the data of PostgreSQL. The requested folder is used if the account that runs PostgreSQL can
// write to it. That is impossible for example when the repository is inside /root. The data are then in a folder below
// /var/lib. A pointer file next to the requested folder contains the path of that folder.
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
    return { data: requested, cache: parent, isMoved: false };
  }
  const known = existsSync(pointer(requested)) ? readFileSync(pointer(requested), 'utf8').trim() : undefined;
  if (!known && makeFolder(requested, account) && canWriteTo(requested, account)) {
    return { data: requested, cache: systemFolder(), isMoved: false };
  }
  if (!known && existsSync(join(requested, 'PG_VERSION'))) {
    throw new Error(
      `user ${account.uid} owns ${requested} but cannot enter it: allow access to the folders above it (chmod a+x)`,
    );
  }
  // Only the pointer file leads to this folder, whose name contains random characters. A user who removes DATA_DIR
  // together with the pointer file therefore starts with empty data. A repository that is moved together with the
  // pointer file keeps its data.
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
  return { data, cache: dirname(folder), isMoved: true };
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

// Returns a folder for data outside of DATA_DIR. This function runs only as root. Every user can create folders in
// /var/tmp, so it accepts only a folder that belongs to root and that nobody else can write to.
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
