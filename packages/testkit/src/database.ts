// A database of one's own for each test file: a copy of a template that is migrated once per set of migration files. Copying takes
// a few ten milliseconds, so tests need no cleaning up and can run in any order and side by side.
import { createHash, randomBytes } from 'node:crypto';
import { migrate, readMigrations } from '@bay-booking/service/migrate';
import pg from 'pg';

export interface TestDatabase {
  url: string;
  name: string;
  drop(): Promise<void>;
}

/** Without `migrations` the database is empty. */
export async function createTestDatabase({ migrations }: { migrations?: string } = {}): Promise<TestDatabase> {
  const name = `test_${process.env.JEST_WORKER_ID ?? '0'}_${randomBytes(6).toString('hex')}`;
  await onServer(async (server) => {
    const template = migrations ? await ensureTemplate(server, migrations) : 'template0';
    await patiently(() => server.query(`create database ${name} template ${template} strategy file_copy`));
  });
  return {
    name,
    url: databaseUrl(name),
    drop: () => onServer(async (server) => void (await server.query(`drop database if exists ${name} with (force)`))),
  };
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (url) return url;
  throw new Error('no test server: the workspace’s jest.config.js should spread `withPostgres` of jest.preset.js');
}

function databaseUrl(name: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer<T>(work: (server: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl(), connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

// The name tells the content, so a server that outlives the run (TEST_DATABASE_URL) keeps its templates and never has a stale one.
async function ensureTemplate(server: pg.Client, directory: string): Promise<string> {
  const hash = createHash('sha256');
  for (const { version, checksum } of await readMigrations(directory)) hash.update(`${version} ${checksum}\n`);
  const digest = hash.digest();
  const template = `template_${digest.toString('hex', 0, 8)}`;
  const lock = digest.readInt32BE(8);
  // Other workers want the same template at the same moment: one makes it, the others wait.
  await server.query('select pg_advisory_lock(1952805748, $1)', [lock]);
  try {
    const { rowCount } = await server.query('select from pg_database where datname = $1', [template]);
    if (rowCount) return template;
    const draft = `${template}_draft`;
    await server.query(`drop database if exists ${draft} with (force)`);
    await server.query(`create database ${draft} template template0`);
    await migrate({ url: databaseUrl(draft), directory });
    await patiently(() => server.query(`alter database ${draft} rename to ${template}`));
    return template;
  } finally {
    await server.query('select pg_advisory_unlock(1952805748, $1)', [lock]);
  }
}

// A session that has just been closed counts as a user of the database for a moment (55006).
async function patiently(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== '55006' || attempt === 100) throw error;
      await new Promise((resume) => setTimeout(resume, 50));
    }
  }
}
