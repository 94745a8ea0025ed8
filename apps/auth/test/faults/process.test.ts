// Tests the service and its commands as separate processes, from the start with an empty database to SIGTERM.
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { type RunningProcess, startProcess } from '@bay-booking/testkit/process';
import { eventually } from '@bay-booking/testkit/wait';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { migrationsDirectory } from '../../src/config.ts';
import { encryptionKey, patForm, scopeBase, scopes } from '../auth-server.ts';
import { demoDocument } from '../demo-document.ts';

const appFolder = new URL('../..', import.meta.url).pathname;
let database: TestDatabase;
let port: number;
let environment: Record<string, string>;
const processes: RunningProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  // ISSUER contains the port, so the test must find a free port before the service starts.
  const probe = await serveHttp();
  ({ port } = probe);
  await probe.close();
  environment = {
    PATH: process.env.PATH ?? '',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
    DATABASE_URL: database.url,
    ISSUER: `http://localhost:${port}`,
    PORT: String(port),
    COOKIE_KEYS: 'test-cookie-key-of-32-characters-or-more',
    KEY_ENCRYPTION_KEY: encryptionKey,
    SCOPE_BASE: scopeBase,
  };
});
afterAll(async () => {
  await Promise.all(processes.map((started) => started.stop('SIGKILL')));
  await database.drop();
});

function start(file: string, args: readonly string[] = [], env: Record<string, string> = environment) {
  const started = startProcess(process.execPath, [`src/${file}`, ...args], { cwd: appFolder, env, stdio: 'pipe' });
  processes.push(started);
  const ended = started.ended.then((code) => ({ code, out: started.output(), err: started.errors() }));
  return { child: started.child, ended };
}
const run = (file: string, args: readonly string[] = [], env = environment) => start(file, args, env).ended;

const health = async (kind: string): Promise<number> => (await fetch(`http://localhost:${port}/health/${kind}`)).status;

describe('from an empty database', () => {
  test('the service becomes ready after the migration, issues tokens, and stops at SIGTERM', async () => {
    const { child, ended } = start('main.ts');
    await eventually(async () => (await health('live').catch(() => undefined)) === 200);
    expect(await health('ready')).toBe(503);
    expect((await fetch(`http://localhost:${port}/connect/jwks`)).status).toBe(503);

    const early = start('commands/import.ts', ['-']);
    early.child.stdin?.end(JSON.stringify(demoDocument(scopes)));
    expect(await early.ended).toMatchObject({ code: 1, err: expect.stringContaining('run migrate') });

    const [first, second] = await Promise.all([run('commands/migrate.ts'), run('commands/migrate.ts')]);
    expect([first.code, second.code]).toEqual([0, 0]);
    await eventually(async () => (await health('ready')) === 200);

    const { child: importing, ended: imported } = start('commands/import.ts', ['-']);
    importing.stdin?.end(JSON.stringify(demoDocument(scopes)));
    expect(await imported).toMatchObject({ code: 0, out: 'imported 2 facilities, 3 accounts, 6 clients\n', err: '' });

    const request = { method: 'POST', body: new URLSearchParams(patForm) };
    expect((await fetch(`http://localhost:${port}/connect/token`, request)).status).toBe(200);
    child.kill('SIGTERM');
    const { out, ...result } = await ended;
    expect(result).toEqual({ code: 0, err: '' });
    for (const line of out.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('level');
  }, 60_000);
});

describe('errors of a command or of the start', () => {
  test.each([
    ['signing-keys.ts', []],
    ['signing-keys.ts', ['turn']],
    ['signing-keys.ts', ['list', 'more']],
    ['migrate.ts', ['more']],
    ['import.ts', []],
    ['export.ts', ['--credentials=hashed', '--credentials=none']],
    ['delete-account.ts', ['']],
  ] as const)('%s with the arguments %j prints its usage and exits with code 1', async (file, args) => {
    const { code, err } = await run(`commands/${file}`, args);
    expect(code).toBe(1);
    expect(err).toMatch(/^usage: npm run /);
  });

  test('the service lists all configuration errors together and exits with code 1', async () => {
    const { code, err } = await run('main.ts', [], { PATH: environment.PATH as string, PORT: 'x' });
    expect(code).toBe(1);
    for (const variable of ['DATABASE_URL', 'ISSUER', 'COOKIE_KEYS', 'KEY_ENCRYPTION_KEY', 'PORT'])
      expect(err).toMatch(new RegExp(`^ *${variable} `, 'm'));
  });

  test('the service names KEY_ENCRYPTION_KEY if it cannot decrypt the stored keys, and exits with code 1', async () => {
    const { url, drop } = await createTestDatabase({ migrations: migrationsDirectory });
    const env = { ...environment, DATABASE_URL: url };
    expect(await run('commands/signing-keys.ts', ['rotate'], env)).toMatchObject({ code: 0 });
    const anotherKey = Buffer.alloc(32, 9).toString('base64');
    const { code, err } = await run('main.ts', [], { ...env, KEY_ENCRYPTION_KEY: anotherKey });
    await drop();
    expect(code).toBe(1);
    expect(err).toMatch(/^KEY_ENCRYPTION_KEY does not open/);
  });
});
