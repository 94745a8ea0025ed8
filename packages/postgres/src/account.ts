// Chooses the operating system account that runs PostgreSQL, which refuses to run as root.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

export interface Account {
  uid: number;
  gid: number;
}

/** Returns undefined if the current user runs the server. For root, the owner of the data or `postgres` runs it. */
export function serverAccount(dataPath: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const account = ownerOf(dataPath) ?? accountNamed('postgres') ?? accountNamed('nobody');
  if (account) return account;
  throw new Error(
    'PostgreSQL refuses to run as root, and this machine has neither a user "postgres" nor "nobody" to run it as. ' +
      'Start as an ordinary user, or set DATABASE_SERVER_URL to use another server.',
  );
}

function ownerOf(path: string): Account | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && stat.uid !== 0 ? { uid: stat.uid, gid: stat.gid } : undefined;
}

function accountNamed(name: string): Account | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout);
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Returns the options with which `spawn` runs a program as the account, in a folder that every user may enter. */
export function runAs(account: Account | undefined): { uid?: number; gid?: number; cwd: string } {
  return { ...account, cwd: '/' };
}

/** The mode of a folder does not show this, because of access control lists, mount options and network file systems. */
export function canWriteTo(folder: string, account: Account | undefined): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], runAs(account));
  return status === 0;
}
