// Runs the shell commands of docs/operations/install.md unchanged, on an empty database server and without superuser
// rights. Then runs the change of a password in docs/operations/configure.md. Without psql, the tests are skipped.
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

const sectionOf = (page: string, title: string): string =>
  read(`docs/operations/${page}`).split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const installation = shellBlocks(sectionOf('install.md', 'From nothing to a running pair'));
const [addLogin = '', dropOldLogin = ''] = shellBlocks(sectionOf('configure.md', 'Rotation of secrets'));

const hasPsql = findPsql() !== undefined;
if (!hasPsql) process.stderr.write('The test of docs/operations is skipped: this machine has no psql\n');
(hasPsql ? describe : describe.skip)('the commands of docs/operations', () => {
  let folder: string;
  let server: EmbeddedPostgres;
  let environment: Record<string, string | undefined>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bay-booking-operations-'));
    await chmod(folder, 0o711);
    const [port, auth, bookings, rolled] = (await freePorts(4)) as [number, number, number, number];
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), port, fsync: false });
    await queryOnce(server.url, "create role manager login createdb createrole password 'manager'");
    const options = { filter: (path: string) => !path.includes('node_modules'), recursive: true };
    for (const part of ['apps', 'infra', 'package.json'])
      await cp(join(root, part), join(folder, 'clone', part), options);
    for (const path of ['node_modules', 'apps/auth/node_modules', 'apps/bookings/node_modules'])
      await symlink(join(root, path), join(folder, 'clone', path));
    environment = {
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      HOME: folder,
      ADMIN_URL: `postgres://manager:manager@localhost:${port}/postgres`,
      ISSUER: `http://localhost:${auth}`,
      BASE_URL: `http://localhost:${bookings}`,
      ROLLED_URL: `http://localhost:${rolled}`,
    };
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  test('install both services, create a booking, and change a database password without downtime', async () => {
    // `npm ci` is left out: the copy of the repository uses the installed dependencies.
    const session = installation.join('\necho; echo ------\n').replace(/^npm ci .*\n/m, '');
    expect(session).not.toContain('npm ci');
    const script = `trap 'kill $(jobs -p); wait' EXIT
${session}
echo; echo ------
${addLogin}
(
  cd apps/bookings
  export DATABASE_URL="postgres://bookings_service_2:$NEW@$HOST/bookings" PORT=\${ROLLED_URL##*:} AUTH_ISSUER="$ISSUER"
  exec node src/main.ts > rolled.log
) &
curl -sS --retry 30 --retry-delay 1 --retry-all-errors -f "$ROLLED_URL/health/ready"
${dropOldLogin}
echo ------
curl -sS -f "$ROLLED_URL/api/bookings" -H "Authorization: Bearer $TOKEN"
echo; echo ------
curl -s "$BASE_URL/health/ready"`;
    const { stdout } = await promisify(execFile)('bash', ['-e', '-c', script], {
      cwd: join(folder, 'clone'),
      env: environment as NodeJS.ProcessEnv,
      timeout: 90_000,
    });
    const [created, , list, readiness] = stdout.split('------\n').slice(-4) as [string, string, string, string];
    expect(JSON.parse(created)).toMatchObject({ bayId: 'bay-1', userAlias: 'first' });
    expect(JSON.parse(list)).toMatchObject({ total: 1 });
    // The old instance reports that it is not ready, because its database login was dropped.
    expect(JSON.parse(readiness)).toMatchObject({ status: 'not ready' });
  }, 120_000);
});
