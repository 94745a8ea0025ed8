// Which user runs the server? PostgreSQL refuses root, so for root it is the owner of the data that is there, else `postgres`, else
// `nobody`: users that the machine has already, since none is ever made. Everyone else runs it as themselves.
import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';

export interface Account {
  uid: number;
  gid: number;
}

/** The account to switch to, or undefined to stay who we are. */
export function serverAccount(dataPath: string): Account | undefined {
  if (process.getuid?.() !== 0) {
    requireOwnName();
    return undefined;
  }
  const account = ownerOf(dataPath) ?? accountNamed('postgres') ?? accountNamed('nobody');
  if (account) return account;
  throw new Error(
    'PostgreSQL refuses to run as root, and this machine has neither a user "postgres" nor "nobody" to run it as. ' +
      'Start as an ordinary user, or name a server of your own in DATABASE_SERVER_URL.',
  );
}

function requireOwnName(): void {
  try {
    userInfo();
  } catch {
    throw new Error(
      `PostgreSQL refuses to run as user ${process.getuid?.()}, which has no entry in /etc/passwd. ` +
        'Start as a user that has one, or name a server of your own in DATABASE_SERVER_URL.',
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

/** What spawn needs to run something as that account; the folder is one that every user may enter. */
export function runAs(account: Account | undefined): { uid?: number; gid?: number; cwd: string } {
  return { ...account, cwd: '/' };
}

/** Modes alone do not tell (ACLs, mount options, squashed root), so that account tries it. */
export function canWriteTo(folder: string, account: Account | undefined): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], {
    ...runAs(account),
    stdio: 'ignore',
  });
  return status === 0;
}
