// Creates a database for each test file. The database is a copy of a template, and the template is migrated only once.
//
// Copying a template takes a few tens of milliseconds. Each test file can therefore have its own database, does not
// have to delete its rows, and can run in any order and in parallel. If TEST_DATABASE_URL names the coordinator of a
// Citus cluster, every node has a template, and every node copies it. The tables of the copy are then distributed.
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Distribution, distribute } from '@bay-booking/service/database/distribute';
import { migrate, readMigrations } from '@bay-booking/service/database/migrate';
import pg from 'pg';

/** The SQLSTATE object_in_use. */
const objectInUse = '55006';
/** The first of the two numbers of an advisory lock for a template. Any number that no other lock uses is possible. */
const templateLocks = 1_952_805_748;
/** How often an operation on a database is repeated while the database is in use. In total, this takes up to 5 s. */
const retries = { count: 100, pauseMilliseconds: 50 };

export interface TestDatabase {
  url: string;
  name: string;
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** The folder of the migrations that create the tables. By default, the database has no tables. */
  migrations?: string;
  /** How Citus distributes the tables over its nodes. By default, the tables are not distributed. */
  distribution?: Distribution;
}

export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `test_${process.env.JEST_WORKER_ID ?? '0'}_${randomBytes(6).toString('hex')}`;
  const nodes = options.distribution ? await findNodes() : [serverUrl()];
  const template = await ensureTemplate(nodes, options);
  await onEach(nodes, async (node) => {
    // `file_copy` copies the files of the template. The default strategy would also write each page to the WAL.
    await retryWhileInUse(() => node.query(`create database ${name} template ${template} strategy file_copy`));
    await copySettings(node, template, name);
  });
  return {
    name,
    url: databaseUrl(name),
    drop: () =>
      onEach(nodes, (node) => retryWhileInUse(() => node.query(`drop database if exists ${name} with (force)`))),
  };
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (url) return url;
  throw new Error(
    'no test server: add `withPostgres` of packages/testkit/jest/preset.js to the jest.config.js of the workspace',
  );
}

function databaseUrl(name: string, node = serverUrl()): string {
  const url = new URL(node);
  url.pathname = `/${name}`;
  return url.href;
}

/** Returns the URL of the server and, if the server is the coordinator of a Citus cluster, the URLs of the workers. */
async function findNodes(): Promise<readonly string[]> {
  return onServer(serverUrl(), async (server) => {
    const { rowCount } = await server.query("select from pg_extension where extname = 'citus'");
    if (!rowCount) return [serverUrl()];
    // The coordinator has the group 0.
    const { rows } = await server.query(
      'select nodename, nodeport from pg_dist_node where groupid > 0 order by groupid',
    );
    const workers = rows.map(({ nodename, nodeport }) => {
      const url = new URL(serverUrl());
      url.host = `${nodename}:${nodeport}`;
      return url.href;
    });
    return [serverUrl(), ...workers];
  });
}

async function onServer<T>(url: string, work: (server: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // Without a listener, a lost connection would end the process. The query fails too, and the caller gets its error.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs a statement on a connection of its own. */
export const queryOnce = (url: string, sql: string, values: unknown[] = []): Promise<pg.QueryResult> =>
  onServer(url, (server) => server.query(sql, values));

async function onEach(nodes: readonly string[], work: (node: pg.Client) => Promise<unknown>): Promise<void> {
  await Promise.all(nodes.map((url) => onServer(url, work)));
}

/**
 * Creates the template if it does not exist, and returns its name. The name contains a hash of the migrations. A server
 * at TEST_DATABASE_URL keeps its templates between runs, and the hash prevents the use of an outdated template.
 */
async function ensureTemplate(nodes: readonly string[], options: TestDatabaseOptions): Promise<string> {
  const { migrations, distribution } = options;
  if (!migrations) return 'template0';
  const hash = createHash('sha256');
  for (const { version, checksum } of await readMigrations(migrations)) hash.update(`${version} ${checksum}\n`);
  if (nodes.length > 1) hash.update(JSON.stringify(distribution));
  const digest = hash.digest();
  const template = `template_${digest.toString('hex', 0, 8)}`;
  // The name of the template contains the first 8 bytes of the hash. The next 4 bytes are the key of the lock.
  const lockKey = digest.readInt32BE(8);
  return onServer(serverUrl(), async (server) => {
    // Several jest workers may need the same template at the same time: one worker creates the template, and the others
    // wait for the lock. The lock ends with the connection.
    await server.query('select pg_advisory_lock($1, $2)', [templateLocks, lockKey]);
    const { rowCount } = await server.query('select from pg_database where datname = $1', [template]);
    if (rowCount) return template;
    const draft = `${template}_draft`;
    await onEach(nodes, async (node) => {
      await node.query(`drop database if exists ${draft} with (force)`);
      await node.query(`create database ${draft} template template0`);
    });
    if (nodes.length > 1) await joinNodes(nodes, draft);
    await migrate({ url: databaseUrl(draft), directory: migrations });
    if (nodes.length > 1 && distribution)
      await distribute({ url: databaseUrl(draft), directory: migrations, distribution });
    // The coordinator comes last. If the template exists on the coordinator, it therefore exists on every worker.
    for (const url of nodes.toReversed()) await onServer(url, (node) => finishTemplate(node, draft, template));
    return template;
  });
}

/** Makes the database on each node a part of one Citus cluster. The first node is the coordinator. */
async function joinNodes(nodes: readonly string[], database: string): Promise<void> {
  const urls = nodes.map((node) => databaseUrl(database, node));
  await onEach(urls, (node) => node.query('create extension citus'));
  await onServer(databaseUrl(database), async (coordinator) => {
    // With fewer shards than the default of 32, a database is created and copied faster.
    await coordinator.query(`alter database ${database} set citus.shard_count = 8`);
    for (const [index, url] of urls.entries()) {
      const { hostname, port } = new URL(url);
      const addNode = index === 0 ? 'citus_set_coordinator_host' : 'citus_add_node';
      await coordinator.query(`select ${addNode}($1, $2)`, [hostname, port]);
    }
  });
}

/**
 * Renames the draft to the template. PostgreSQL neither renames nor copies a database that has sessions, so this
 * function also ends the daemon that Citus runs in every database.
 */
async function finishTemplate(server: pg.Client, draft: string, template: string): Promise<void> {
  await server.query(`alter database ${draft} allow_connections false`);
  await retryWhileInUse(async () => {
    await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [draft]);
    await server.query(`alter database ${draft} rename to ${template}`);
  });
}

/** Copies the settings of a database (`alter database … set`). `create database … template` does not copy them. */
async function copySettings(server: pg.Client, from: string, to: string): Promise<void> {
  const { rows } = await server.query<{ setting: string }>(
    `select unnest(setconfig) as setting from pg_db_role_setting
     join pg_database on pg_database.oid = setdatabase where setrole = 0 and datname = $1`,
    [from],
  );
  for (const { setting } of rows) {
    const [key, ...value] = setting.split('=');
    await server.query(`alter database ${to} set ${key} = ${pg.escapeLiteral(value.join('='))}`);
  }
}

/** Repeats `work` while it fails with object_in_use. PostgreSQL may report this error shortly after a session ended. */
async function retryWhileInUse(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== objectInUse || attempt === retries.count) throw error;
      await pause(retries.pauseMilliseconds);
    }
  }
}
