// How does a database get its schema? Numbered SQL files, forward only, each in its own transaction, under one advisory lock: safe
// to run twice and from two hosts at once (contract section 2). A direct connection is needed, since the lock belongs to the session.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

const lockKey = 4_206_912_021;
/** A file that starts with this line runs outside a transaction, for CREATE INDEX CONCURRENTLY; it must be safe to run again. */
const outsideTransaction = '-- no transaction';

/** @throws {Error} for a stray file, a gap or a number used twice */
export async function readMigrations(directory: string): Promise<readonly Migration[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file, index) => {
      const [, digits, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? [];
      if (!digits || !name || Number(digits) !== index + 1) {
        throw new Error(`migration ${file} should be ${String(index + 1).padStart(4, '0')}_<name>.sql`);
      }
      const sql = await readFile(join(directory, file), 'utf8');
      return { version: Number(digits), name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

export interface MigrateOptions {
  readonly url: string;
  readonly directory: string;
  readonly log?: (message: string) => void;
}

/** Nobody else changes this database's schema while `work` does. */
export async function alone<T>(url: string, name: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: name, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('set statement_timeout = 0');
    await lockOut(client);
    await client.query("set lock_timeout = '3s'");
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Brings the database to the newest version and answers the versions applied now.
 * @throws {Error} when the schema is newer than the files, or when an applied file was changed afterwards
 */
export async function migrate({ url, directory, log = () => {} }: MigrateOptions): Promise<readonly number[]> {
  const migrations = await readMigrations(directory);
  return alone(url, 'migrate', async (client) => {
    await client.query(
      'create table if not exists schema_migration (version int primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())',
    );
    const { rows } = await client.query<{ version: number; checksum: string }>(
      'select version, checksum from schema_migration order by version',
    );
    checkHistory(migrations, rows);
    const missing = migrations.slice(rows.length);
    for (const migration of missing) {
      log(`migration ${migration.version} ${migration.name}`);
      await patiently(() => apply(client, migration)).catch((error: Error) => {
        throw new Error(`migration ${migration.version} ${migration.name}: ${error.message}`, { cause: error });
      });
    }
    return missing.map(({ version }) => version);
  });
}

/** Asks again and again: a statement that waits would be waited for by the other one's `create index concurrently`, in a circle. */
async function lockOut(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [lockKey]);
    if (rows[0]?.locked) return;
    await pause(100);
  }
}

function checkHistory(
  migrations: readonly Migration[],
  applied: readonly { version: number; checksum: string }[],
): void {
  if (applied.length > migrations.length) {
    throw new Error(`the schema has version ${applied.length}, newer than this release knows (${migrations.length})`);
  }
  for (const [index, { version, checksum }] of applied.entries()) {
    if (migrations[index]?.checksum !== checksum)
      throw new Error(`migration ${version} was changed after it had been applied`);
  }
}

/** A busy table may make the lock time out (so that the service's queries don't pile up behind it): then a little later again. */
export async function patiently(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!['55P03', '40P01'].includes((error as { code?: string }).code ?? '') || attempt === 20) throw error;
      await pause(500 * Math.random() + 250 * Math.min(attempt, 8));
    }
  }
}

/** What an interrupted `create index concurrently` leaves behind: found by `if not exists`, kept up to date, and never used. */
async function dropHalfBuilt(client: pg.Client, sql: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select indexrelid::regclass::text as name from pg_index where not indisvalid',
  );
  for (const { name } of rows) if (sql.includes(` ${name} `)) await client.query(`drop index concurrently ${name}`);
}

async function apply(client: pg.Client, { version, name, sql, checksum }: Migration): Promise<void> {
  const record = () =>
    client.query('insert into schema_migration (version, name, checksum) values ($1, $2, $3)', [
      version,
      name,
      checksum,
    ]);
  if (sql.startsWith(outsideTransaction)) {
    await dropHalfBuilt(client, sql);
    await client.query(sql);
    await record();
    return;
  }
  await client.query('begin');
  try {
    await client.query(sql);
    await record();
    await client.query('commit');
  } catch (error) {
    // What went wrong is more than that nothing can be said to the server any more.
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
