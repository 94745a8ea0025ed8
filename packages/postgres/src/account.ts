// Chooses the operating system account that runs the PostgreSQL server, and checks to which folders this account can
// write. Normally, this is the account of the current user. PostgreSQL refuses to run as root. If the current user is
// root, the owner of the existing data runs the server. If there are no data or root owns them, it runs as `postgres`,
// or as `nobody` if `postgres` does not exist. No account is created.
import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';

export interface Account {
  uid: number;
  gid: number;
}

/**
 * Returns the account that runs the server, or undefined if the current user runs it.
 * @throws {Error} if PostgreSQL refuses the current user, or root finds no other account
 */
export function serverAccount(dataPath: string): Account | undefined {
  if (process.getuid?.() !== 0) {
    requireUserName();
    return undefined;
  }
  const account = ownerOf(dataPath) ?? accountNamed('postgres') ?? accountNamed('nobody');
  if (account) return account;
  throw new Error(
    'PostgreSQL refuses to run as root, and this machine has neither a user "postgres" nor "nobody" to run it as. ' +
      'Start as an ordinary user, or set DATABASE_SERVER_URL to use another server.',
  );
}

/** Throws if the current user has no name. PostgreSQL looks up this name, and does not run without it. */
function requireUserName(): void {
  try {
    userInfo();
  } catch {
    throw new Error(
      `PostgreSQL refuses to run as user ${process.getuid?.()}, which has no entry in /etc/passwd. ` +
        'Start as a user that has one, or set DATABASE_SERVER_URL to use another server.',
    );
  }
}

function ownerOf(path: string): Account | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && stat.uid !== 0 ? { uid: stat.uid, gid: stat.gid } : undefined;
}

function accountNamed(name: string): Account | undefined {
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}

/** Returns the options with which `spawn` runs a program as the account, in a folder that every user may enter. */
export function runAs(account: Account | undefined): { uid?: number; gid?: number; cwd: string } {
  return { ...account, cwd: '/' };
}

/**
 * Whether the account can write to a folder. The function runs `test -w` as the account, because the mode of the folder
 * is not enough: access also depends on access control lists, mount options and the users of network file systems.
 */
export function canWriteTo(folder: string, account: Account | undefined): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], {
    ...runAs(account),
    stdio: 'ignore',
  });
  return status === 0;
}
