// Runs the shell commands of docs/operations/install.md on an empty database server, with TLS, with https names, and
// without the rights of a superuser. Then runs the commands that change a database password in
// docs/operations/configure.md, and those that restore a dump in back-up.md. On a machine without psql, the tests are
// skipped.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, mkdtempDisposable, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@bay-booking/postgres/ports';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { queryOnce } from '@bay-booking/testkit/database';
import { findPgDump, findPsql } from '@bay-booking/testkit/programs';
import { read, root, shellBlocks } from '@bay-booking/testkit/repository';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nodeEnvironment } from './support/commands.ts';

/** Returns the text of a section of a page in docs/operations. */
const sectionOf = (page: string, title: string): string =>
  read(`docs/operations/${page}`).split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const installation = shellBlocks(sectionOf('install.md', 'From nothing to two running services'));
const [, dumpCommands = '', restoreCommands = ''] = shellBlocks(sectionOf('back-up.md', 'Restore'));
const [measureTables = ''] = shellBlocks(sectionOf('scale.md', 'Size of the tables'));
const [addLogin = '', dropOldLogin = ''] = shellBlocks(sectionOf('configure.md', 'Rotation of secrets'));

/** PostgreSQL requires that it owns its key. If root runs the tests, PostgreSQL runs as another user. */
const certificateCommands = [
  'openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt',
  'openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr',
  `openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out server.crt \\
     -extfile <(echo subjectAltName=DNS:localhost)`,
  'chmod 600 server.key; chmod 644 *.crt',
  'test "$(id -u)" != 0 || chown nobody server.key',
];
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
    // A certificate authority of its own, as a managed database has.
    const tls = join(folder, 'tls');
    await mkdir(tls, { mode: 0o755 });
    for (const command of certificateCommands) await promisify(execFile)('bash', ['-c', command], { cwd: tls });
    const settings = { ssl: 'on', ssl_cert_file: `${tls}/server.crt`, ssl_key_file: `${tls}/server.key` };
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), port, fsync: false, settings });
    await queryOnce(server.url, "create role manager login createdb createrole password 'manager'");
    // The documented commands write files into the repository, so the tests run them in a copy of it.
    const withoutModules = { filter: (path: string) => !path.includes('node_modules'), recursive: true };
    const parts = [
      'apps',
      'infra',
      'docs',
      'packages/client/README.md',
      'packages/service/check-node.js',
      'package.json',
    ];
    for (const part of parts) await cp(join(root, part), join(folder, 'clone', part), withoutModules);
    for (const path of ['node_modules', 'apps/auth/node_modules', 'apps/bookings/node_modules'])
      await symlink(join(root, path), join(folder, 'clone', path));
    environment = {
      ...nodeEnvironment,
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      HOME: folder,
      PGPORT: String(port),
      PGUSER: 'manager',
      PGPASSWORD: 'manager',
      PGSSLMODE: 'verify-full',
      PGSSLROOTCERT: `${tls}/ca.crt`,
      DB_TLS: `?sslmode=verify-full&sslrootcert=${tls}/ca.crt`,
      AUTH_PORT: String(authPort),
      BOOKINGS_PORT: String(bookingsPort),
      ISSUER: 'https://id.example.com',
      BASE_URL: 'https://bookings.example.com',
      /** The port of the second instance of bookings, which connects to the database with the new login. */
      NEW_PORT: String(newInstancePort),
    };
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('the commands install both services, create a booking, and change a database password', async () => {
    // `npm ci` is left out: the copy of the repository uses the installed dependencies.
    // A line of equals signs separates the outputs of the blocks.
    const installCommands = installation.join('\necho; echo =====\n').replace(/^npm ci .*\n/m, '');
    expect(installCommands).not.toContain('npm ci');
    // The script installs both services, starts a second instance of bookings with the new login, and drops the old
    // login. The documented commands set $TOKEN and $NEW. At the end, the shell stops the services.
    const script = `trap 'kill $(jobs -p); wait' EXIT
${installCommands}
echo; echo =====
${measureTables}
echo =====
psql -d bookings -Atc "select 'tls', bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'bookings_service'"
echo =====
${addLogin}
(
  set -a; . ./bookings.env
  DATABASE_URL="postgres://bookings_service_2:$NEW@$PGHOST:$PGPORT/bookings$DB_TLS" PORT=$NEW_PORT
  cd apps/bookings
  exec node src/main.ts > new-instance.log
) &
curl -sS --retry 120 --retry-delay 1 --retry-all-errors -f "http://localhost:$NEW_PORT/health/ready"
${dropOldLogin}
echo =====
curl -sS -f "http://localhost:$NEW_PORT/api/bookings" -H "Authorization: Bearer $TOKEN"
echo; echo =====
curl -s "$BOOKINGS/health/ready"`;
    const { stdout } = await promisify(execFile)('bash', ['-e', '-c', script], {
      cwd: join(folder, 'clone'),
      env: environment as NodeJS.ProcessEnv,
      timeout: 240_000,
    });
    // The last six outputs are the booking that the last block of install.md creates, the sizes of the tables, whether
    // all connections have TLS, the output of the commands that change the password, the bookings that the second
    // instance returns, and the readiness of the first instance.
    const [created = '', sizes, tls, , list = '', readiness = ''] = stdout.split('=====\n').slice(-6);
    expect(JSON.parse(created)).toMatchObject({ bayId: 'bay-1', userAlias: 'first' });
    expect(sizes).toMatch(/ booking +\| +1 \| \d+ kB \|/);
    expect(tls).toBe('tls|t\n');
    expect(JSON.parse(list)).toMatchObject({ total: 1 });
    // The first instance reports that it is not ready, because its database login was dropped.
    expect(JSON.parse(readiness)).toMatchObject({ status: 'not ready' });
  });
});

const programs = findPgDump();
(programs ? test : test.skip)('the documented commands restore a dump on another server', async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'bay-booking-dump-'));
  const folder = temporary.path;
  await chmod(folder, 0o711);
  const servers: EmbeddedPostgres[] = [];
  const start = async (name: string, port: number) => {
    const dataDir = join(folder, name);
    const server = await startEmbeddedPostgres({ dataDir, port, fsync: false, programs: programs as string });
    servers.push(server);
    await queryOnce(server.url, "create role manager login createdb createrole password 'manager'");
    await queryOnce(server.url, 'grant pg_read_all_data to manager');
    return server;
  };
  const run = (port: number, script: string) =>
    promisify(execFile)('bash', ['-e', '-c', script], {
      cwd: root,
      env: {
        PATH: `${programs}:${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
        ...{ PGHOST: 'localhost', PGPORT: String(port), PGUSER: 'manager', PGPASSWORD: 'manager' },
        ...{
          NODE_COMPILE_CACHE: nodeEnvironment.NODE_COMPILE_CACHE,
          PGDATABASE: 'postgres',
          DUMPS: folder,
          OWNER_PASSWORD: 'owner',
          SERVICE_PASSWORD: 'service',
        },
      },
    });
  const createDatabases =
    'for name in auth bookings; do psql -v ON_ERROR_STOP=1 -q -v name=$name -f infra/postgres/service.sql; done\n';
  const migrate = (port: number) =>
    `for name in auth bookings; do
       (cd apps/$name; DATABASE_URL=postgres://\${name}_owner:owner@localhost:${port}/$name node src/commands/migrate.ts)
     done`;
  try {
    const [oldPort, newPort] = (await freePorts(2)) as [number, number];
    await start('old', oldPort);
    await run(oldPort, createDatabases + migrate(oldPort));
    const oldUrl = `postgres://bookings_service:service@localhost:${oldPort}/bookings`;
    await queryOnce(oldUrl, "insert into facility (id, name, time_zone) values ('kept', 'Kept Range', 'UTC')");
    await run(oldPort, dumpCommands);

    await start('new', newPort);
    await run(newPort, createDatabases + restoreCommands);
    // No migration is missing, and the service may do what it may on the old server.
    expect((await run(newPort, migrate(newPort))).stdout).toBe('the schema is up to date\n'.repeat(2));
    const newUrl = oldUrl.replace(String(oldPort), String(newPort));
    const { rows } = await queryOnce(newUrl, 'select facility.id, value from facility, database_identity');
    expect(rows).toEqual([{ id: 'kept', value: 'restored' }]);
    await expect(queryOnce(newUrl, 'delete from schema_migration')).rejects.toThrow('permission denied');
    const auditUrl = newUrl.replaceAll('bookings', 'auth');
    await expect(queryOnce(auditUrl, 'delete from audit_event')).rejects.toThrow('permission denied');
  } finally {
    for (const server of servers) await server.stop();
  }
});
