// Applies a directory's numbered SQL files to a database, in order and each file once (docs/behaviour.md, "Start-up").
// Also checks whether a release can use the database's schema.
//
// An advisory lock lets only one host migrate at a time. The session owns the lock, so the URL must lead to PostgreSQL
// itself and not to a connection pooler.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { errorCode } from './errors.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

type AppliedMigration = Omit<Migration, 'sql'>;

/** The SQLSTATE of a query on a table that does not exist. */
const undefinedTable = '42P01';

export async function readAppliedMigrations(on: pg.Pool | pg.ClientBase): Promise<readonly AppliedMigration[]> {
  try {
    const { rows } = await on.query('select version, name, checksum from schema_migration order by version');
    return rows;
  } catch (error) {
    if (errorCode(error) === undefinedTable) return [];
    throw error;
  }
}

const oldestServerVersion = 15;

async function unsupportedServer(on: pg.Pool | pg.ClientBase): Promise<string | undefined> {
  const { rows } = await on.query("select current_setting('server_version') as version");
  return unsupportedVersion(rows[0].version);
}

/** Returns why a server of this version, such as `15.18 (Debian 15.18-0+deb12u1)`, cannot be used. */
export function unsupportedVersion(version: string): string | undefined {
  return Number.parseInt(version, 10) >= oldestServerVersion
    ? undefined
    : `PostgreSQL ${version} is too old: ${oldestServerVersion} or later is needed`;
}

/**
 * Returns why this release, which has `expected` migrations, cannot use the schema. A release can use a later release's
 * schema whose additional migrations are named `expand_…`: its instances serve requests during an upgrade.
 */
export async function schemaMismatch(on: pg.Pool | pg.ClientBase, expected: number): Promise<string | undefined> {
  const unsupported = await unsupportedServer(on);
  if (unsupported) return unsupported;
  const applied = await readAppliedMigrations(on);
  if (applied.length < expected) return `schema version ${applied.length} is older than ${expected}: run migrate`;
  const breaking = applied.slice(expected).find(({ name }) => !name.startsWith('expand_'));
  return breaking && `schema version ${breaking.version} is newer than ${expected}: this release is too old`;
}

/** Default privileges let the service's role write all tables. It may only read the applied migrations. */
const protectHistory = `do $$
declare
  grantee text;
begin
  for grantee in
    select distinct acl.grantee::regrole::text from pg_class c cross join lateral aclexplode(c.relacl) acl
    where c.oid = 'schema_migration'::regclass and acl.grantee <> c.relowner and acl.grantee <> 0
      and acl.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
  loop
    execute format('revoke insert, update, delete, truncate on schema_migration from %s', grantee);
  end loop;
end
$$`;

export interface MigrateOptions {
  readonly url: string;
  readonly directory: string;
  readonly log?: (message: string) => void;
}

/** Any number works that no other program uses in the same database. */
const advisoryLock = 4_206_912_021;
/**
 * A file whose first line is this comment runs outside a transaction, because CREATE INDEX CONCURRENTLY cannot run
 * inside one. Such a file must be safe to run again after an interruption.
 */
const noTransaction = '-- no transaction';
/** lock_not_available and deadlock_detected. */
const lockErrors = ['55P03', '40P01'];
const maxAttempts = 20;

/** @throws {Error} if an SQL file is not named like `0001_name.sql`, or if a number is missing or used twice */
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

/**
 * Returns the versions that this call has applied.
 *
 * @throws {Error} if the schema is newer than the files, an applied file has changed, or a migration fails
 */
export async function migrate({ url, directory, log = () => {} }: MigrateOptions): Promise<readonly number[]> {
  const migrations = await readMigrations(directory);
  return withMigrationLock(url, 'migrate', async (client) => {
    const unsupported = await unsupportedServer(client);
    if (unsupported) throw new Error(unsupported);
    await client.query(
      `create table if not exists schema_migration (
         version int primary key, name text not null, checksum text not null,
         applied_at timestamptz not null default now()
       )`,
    );
    await client.query(protectHistory);
    const applied = await readAppliedMigrations(client);
    const problem = historyProblem(migrations, applied);
    if (problem) throw new Error(problem);
    const pending = migrations.slice(applied.length);
    for (const migration of pending) {
      log(`migration ${migration.version} ${migration.name}`);
      await retryOnLockError(() => applyMigration(client, migration)).catch((error: Error) => {
        throw new Error(`migration ${migration.version} ${migration.name}: ${error.message}`, { cause: error });
      });
    }
    return pending.map(({ version }) => version);
  });
}

/** Runs `work` on a new connection while no other process changes this database's schema. */
export async function withMigrationLock<T>(
  url: string,
  applicationName: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
  });
  // A lost connection without a listener would end the process. The current or next query fails too.
  client.on('error', () => {});
  await client.connect();
  try {
    // Migrating a large table may take longer than the role's `statement_timeout`.
    await client.query('set statement_timeout = 0');
    await acquireMigrationLock(client);
    // While a statement waits for a table lock, all later queries of the table wait too.
    await client.query("set lock_timeout = '3s'");
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Polls, because a waiting statement would block CREATE INDEX CONCURRENTLY in the session that holds the lock. */
async function acquireMigrationLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [advisoryLock]);
    if (rows[0].locked) return;
    await sleep(100);
  }
}

/** Returns why the migrations of a directory cannot be applied to a database, or undefined. */
export const findHistoryProblem = async (client: pg.Client, directory: string) =>
  historyProblem(await readMigrations(directory), await readAppliedMigrations(client));

function historyProblem(migrations: readonly Migration[], applied: readonly AppliedMigration[]): string | undefined {
  const changed = applied.find(({ checksum }, index) => migrations[index] && migrations[index].checksum !== checksum);
  if (changed?.version === 1)
    return 'migration 1 was changed after it had been applied: a development version created the database, so use a new one';
  if (applied.length > migrations.length)
    return `the schema has version ${applied.length}, newer than this release knows (${migrations.length})`;
  return changed && `migration ${changed.version} was changed after it had been applied`;
}

export async function retryOnLockError(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (!lockErrors.includes(code) || attempt === maxAttempts) throw error;
      await sleep(250 * Math.min(attempt, 8) + 500 * Math.random());
    }
  }
}

async function applyMigration(client: pg.Client, { version, name, sql, checksum }: Migration): Promise<void> {
  const run = async () => {
    // Citus rejects several statements in one query, so each statement is sent separately.
    for (const statement of splitStatements(sql)) await client.query(statement);
  };
  const record = () =>
    client.query('insert into schema_migration (version, name, checksum) values ($1, $2, $3)', [
      version,
      name,
      checksum,
    ]);
  if (sql.startsWith(noTransaction)) {
    await dropInvalidIndexes(client, sql);
    await run();
    await record();
    return;
  }
  await inTransaction(client, async () => {
    await run();
    await record();
  });
}

export async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    // The rollback also fails if the connection is lost.
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/**
 * Drops invalid indexes that the SQL names. An interrupted CREATE INDEX CONCURRENTLY leaves an index that is never used
 * and that `create index if not exists` does not replace.
 */
async function dropInvalidIndexes(client: pg.Client, sql: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select indexrelid::regclass::text as name from pg_index where not indisvalid',
  );
  for (const { name } of rows) if (sql.includes(` ${name} `)) await client.query(`drop index concurrently ${name}`);
}

/** Comments, strings, quoted identifiers and dollar-quoted bodies can contain semicolons. */
const statement = /(?:--.*|\/\*[\s\S]*?\*\/|'[^']*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|[^;])+/g;
const comment = /--.*|\/\*[\s\S]*?\*\//g;

/** Returns the statements without their semicolons. Strings with backslash escapes (`E'…'`) are not supported. */
export function splitStatements(sql: string): string[] {
  return (sql.match(statement) ?? []).filter((text) => text.replace(comment, '').trim() !== '');
}
