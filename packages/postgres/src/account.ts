// Chooses the operating system user that runs the PostgreSQL server. PostgreSQL refuses to run as root. Root therefore
// uses the owner of the existing data, else the user `postgres`, else `nobody`. We never create a user. Everyone else
// runs the server as themselves.
import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';

export interface Account {
  uid: number;
  gid: number;
}

/** Returns the account to switch to, or undefined to keep the current user. */
export function serverAccount(dataPath: string): Account | undefined {
  if (process.getuid?.() !== 0) {
    requireOwnName();
    return undefined;
  }
  const account = ownerOf(dataPath) ?? accountNamed('postgres') ?? accountNamed('nobody');
  if (account) return account;
  throw new Error(
    'PostgreSQL refuses to run as root, and this machine has neither a user "postgres" nor "nobody" to run it as. ' +
      'Start as an ordinary user, or set DATABASE_SERVER_URL to use another server.',
  );
}

function requireOwnName(): void {
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

/** Options for `spawn` that run a program as the account, in a folder that every user may enter. */
export function runAs(account: Account | undefined): { uid?: number; gid?: number; cwd: string } {
  return { ...account, cwd: '/' };
}

/** Tests by trying, because file modes do not show ACLs, mount options or a squashed root. */
export function canWriteTo(folder: string, account: Account | undefined): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], {
    ...runAs(account),
    stdio: 'ignore',
  });
  return status === 0;
}
