// Finds the installed programs that some tests need. These tests are skipped on a machine without their program.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const existing = (path: string): string | undefined => (existsSync(path) ? path : undefined);

const programsOnPath = (name: string): readonly string[] =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .filter((path) => existsSync(path));

/** The headless shell is Chromium without a user interface, and shows a page with half of the processor time. */
const headlessShell = existing('/usr/bin/chromium-headless-shell');

export const chromiumPath = process.env.CHROMIUM_PATH ?? headlessShell ?? '/usr/bin/chromium';

export const findChromium = (): string | undefined => existing(chromiumPath);

/** Finds Node.js with this major version, which can differ from the version that runs the tests. */
export const findNode = (major: number): string | undefined =>
  programsOnPath('node').find((path) =>
    execFileSync(path, ['--version'], { encoding: 'utf8' }).startsWith(`v${major}.`),
  );

export const findPgBouncer = (): string | undefined => existing('/usr/sbin/pgbouncer');

export const findPsql = (): string | undefined => programsOnPath('psql')[0];

/** Finds the folder of a PostgreSQL server that has the client programs too, such as pg_dump. */
export function findPgDump(): string | undefined {
  const found = globSync('/usr/lib/postgresql/*/bin/pg_dump').toSorted().reverse();
  return found.map(dirname).find((folder) => existsSync(join(folder, 'postgres')));
}

/** Finds the folder with the programs of the newest installed PostgreSQL that has the extension Citus. */
export function findCitus(): string | undefined {
  const pgConfigs = globSync([
    '/usr/lib/postgresql/*/bin/pg_config',
    '/usr/pgsql-*/bin/pg_config',
    '/usr/local/pgsql/bin/pg_config',
  ]);
  // All versions have two digits, so the order of the paths of one distribution is the order of the versions.
  const newestWithCitus = pgConfigs
    .toSorted()
    .reverse()
    .find((pgConfig) => {
      const sharedFolder = execFileSync(pgConfig, ['--sharedir'], { encoding: 'utf8' }).trim();
      return existsSync(join(sharedFolder, 'extension/citus.control'));
    });
  return newestWithCitus && dirname(newestWithCitus);
}
