// Chooses the operating system account that runs PostgreSQL, which does not run as root.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

export interface Account {
  uid: number;
  gid: number;
}

/**
 * Returns undefined if the current user runs the server. For root, the data folder's owner or `postgres` or `nobody`
 * runs it.
 */
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

/** Returns options that make `spawn` run a program as the account, in a folder that every user can enter. */
export function runAs(account: Account | undefined): { uid?: number; gid?: number; cwd: string } {
  return { ...account, cwd: '/' };
}

/** The folder's mode is not enough: access control lists, mount options and network file systems matter too. */
export function canWriteTo(folder: string, account: Account | undefined): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], runAs(account));
  return status === 0;
}
