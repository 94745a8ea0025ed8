// Finds the installed programs that some tests need. These tests are skipped on a machine without their program.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const existing = (path: string): string | undefined => (existsSync(path) ? path : undefined);

export const chromiumPath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

export const findChromium = (): string | undefined => existing(chromiumPath);

/** Finds another version of Node.js than the one that runs the tests. */
export const findNode = (major: number): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .find(
      (path) => existsSync(path) && execFileSync(path, ['--version'], { encoding: 'utf8' }).startsWith(`v${major}.`),
    );

/** Finds PgBouncer where its Debian package installs it. */
export const findPgBouncer = (): string | undefined => existing('/usr/sbin/pgbouncer');

/** Finds oidc-gen of the Debian package oidc-agent-cli. The other programs of the package are in the same folder. */
export const findOidcAgent = (): string | undefined => existing('/usr/bin/oidc-gen');

export const findPsql = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'psql'))
    .find((path) => existsSync(path));

/** Finds the folder with the programs of the newest installed PostgreSQL that has the extension Citus. */
export function findCitus(): string | undefined {
  const installed = globSync([
    '/usr/lib/postgresql/*/bin/pg_config',
    '/usr/pgsql-*/bin/pg_config',
    '/usr/local/pgsql/bin/pg_config',
  ]);
  return installed
    .sort()
    .reverse()
    .find((program) => {
      const shared = execFileSync(program, ['--sharedir'], { encoding: 'utf8' }).trim();
      return globSync(join(shared, 'extension/citus.control')).length > 0;
    })
    ?.replace(/\/pg_config$/, '');
}
