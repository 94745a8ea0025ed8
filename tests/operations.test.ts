// Runs the shell commands of docs/operations/install.md on an empty database server, without the rights of a superuser.
// Then runs the commands that change a database password in docs/operations/configure.md. On a machine without psql,
// the test is skipped.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@bay-booking/postgres/ports';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { findPsql } from '@bay-booking/testkit/programs';
import { read, root, shellBlocks } from '@bay-booking/testkit/repository';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { queryOnce } from './support/database-server.ts';

/** Returns the text of a section of a page in docs/operations. */
const sectionOf = (page: string, title: string): string =>
  read(`docs/operations/${page}`).split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const installation = shellBlocks(sectionOf('install.md', 'From nothing to two running services'));
const [addLogin = '', dropOldLogin = ''] = shellBlocks(sectionOf('configure.md', 'Rotation of secrets'));

const hasPsql = findPsql() !== undefined;
if (!hasPsql) process.stderr.write('The test of docs/operations is skipped: this machine has no psql\n');
(hasPsql ? describe : describe.skip)('the commands of docs/operations', () => {
  let folder: string;
  let server: EmbeddedPostgres;
  let environment: Record<string, string | undefined>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bay-booking-operations-'));
    // The user that runs PostgreSQL must be able to enter the folder.
    await chmod(folder, 0o711);
    const [port, authPort, bookingsPort, newInstancePort] = (await freePorts(4)) as [number, number, number, number];
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), port, fsync: false });
    await queryOnce(server.url, "create role manager login createdb createrole password 'manager'");
    // The documented commands write files into the repository, so the tests run them in a copy of it.
    const withoutModules = { filter: (path: string) => !path.includes('node_modules'), recursive: true };
    for (const part of ['apps', 'infra', 'package.json'])
      await cp(join(root, part), join(folder, 'clone', part), withoutModules);
    for (const path of ['node_modules', 'apps/auth/node_modules', 'apps/bookings/node_modules'])
      await symlink(join(root, path), join(folder, 'clone', path));
    environment = {
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      HOME: folder,
      ADMIN_URL: `postgres://manager:manager@localhost:${port}/postgres`,
      ISSUER: `http://localhost:${authPort}`,
      BASE_URL: `http://localhost:${bookingsPort}`,
      /** The address of the second instance of bookings, which connects to the database with the new login. */
      NEW_INSTANCE_URL: `http://localhost:${newInstancePort}`,
    };
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  test('the commands install both services, create a booking, and change a database password', async () => {
    // `npm ci` is left out: the copy of the repository uses the installed dependencies.
    // A line of dashes separates the outputs of the blocks.
    const installCommands = installation.join('\necho; echo ------\n').replace(/^npm ci .*\n/m, '');
    expect(installCommands).not.toContain('npm ci');
    // The script installs both services, starts a second instance of bookings with the new login, and drops the old
    // login. The documented commands set $HOST, $TOKEN and $NEW. In bash, `${NEW_INSTANCE_URL##*:}` is the text after
    // the last colon, which is the port. At the end, the shell stops the services.
    const script = `trap 'kill $(jobs -p); wait' EXIT
${installCommands}
echo; echo ------
${addLogin}
(
  cd apps/bookings
  export DATABASE_URL="postgres://bookings_service_2:$NEW@$HOST/bookings" PORT=\${NEW_INSTANCE_URL##*:} AUTH_ISSUER="$ISSUER"
  exec node src/main.ts > new-instance.log
) &
curl -sS --retry 30 --retry-delay 1 --retry-all-errors -f "$NEW_INSTANCE_URL/health/ready"
${dropOldLogin}
echo ------
curl -sS -f "$NEW_INSTANCE_URL/api/bookings" -H "Authorization: Bearer $TOKEN"
echo; echo ------
curl -s "$BASE_URL/health/ready"`;
    const { stdout } = await promisify(execFile)('bash', ['-e', '-c', script], {
      cwd: join(folder, 'clone'),
      env: environment as NodeJS.ProcessEnv,
      timeout: 90_000,
    });
    // The last four outputs are the booking that the last block of install.md creates, the output of the commands that
    // change the password, the bookings that the second instance returns, and the readiness of the first instance.
    const [created, , list, readiness] = stdout.split('------\n').slice(-4) as [string, string, string, string];
    expect(JSON.parse(created)).toMatchObject({ bayId: 'bay-1', userAlias: 'first' });
    expect(JSON.parse(list)).toMatchObject({ total: 1 });
    // The first instance reports that it is not ready, because its database login was dropped.
    expect(JSON.parse(readiness)).toMatchObject({ status: 'not ready' });
  }, 120_000);
});
