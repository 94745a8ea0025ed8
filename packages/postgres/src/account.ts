// Chooses the operating system account that runs PostgreSQL, which does not run as root.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

export interface Account {
  uid: number;
  gid: number;
}

/** Returns undefined if the current user runs the server. For root, the data folder's owner or `nobody` runs it. */
export function serverAccount(dataPath: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(dataPath, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  throw new Error('PostgreSQL does not run as root: start as another user, or set DATABASE_SERVER_URL');
}

/** Returns options that make `spawn` run a program as the account, in a folder that every user can enter. */
export const runAs = (account: Account | undefined) => ({ ...account, cwd: '/' });
