// How do tables get spread over the nodes of a Citus cluster? By a list of them, under the lock of the migrations: nothing on plain
// PostgreSQL, nothing for what is spread already, and what a run that died has left undone. See docs/operations/scale.md.
import pg from 'pg';
import { alone, patiently, readMigrations } from './migrate.ts';

export interface SpreadTable {
  readonly table: string;
  readonly by: string;
}

export interface Distribution {
  /** Rows with the same value lie on one node; whoever is referred to comes first. */
  readonly together: readonly [SpreadTable, ...SpreadTable[]];
  /** Each by a key of its own. */
  readonly apart: readonly SpreadTable[];
  /** What stays on the coordinator. */
  readonly local: readonly string[];
}

export interface DistributeOptions {
  readonly url: string;
  /** Those of the migrations that have to be applied. */
  readonly directory: string;
  readonly distribution: Distribution;
  readonly log?: (message: string) => void;
}

/**
 * Answers the tables spread now, or undefined where Citus is not installed.
 * @throws {Error} when the schema is not this release's, no node is there to take rows, or a table is spread otherwise
 */
export async function distribute(options: DistributeOptions): Promise<readonly string[] | undefined> {
  const { url, directory, distribution, log = () => {} } = options;
  const migrations = await readMigrations(directory);
  return alone(url, 'distribute', async (client) => {
    if (!(await isInstalled(client))) return undefined;
    await requireSchema(client, migrations.length);
    await requireNode(client);
    await letLimitsReachNodes(client);
    const done = await spreadTables(client);
    for (const { table, by } of [...distribution.together, ...distribution.apart]) {
      const column = done.get(table);
      if (column !== undefined && column !== by) throw new Error(`${table} is distributed by ${column}, not by ${by}`);
    }
    const missing = (tables: readonly SpreadTable[]) => tables.filter(({ table }) => !done.has(table));
    const [first] = distribution.together;
    const together = missing(distribution.together);
    const steps = [together, ...missing(distribution.apart).map((table) => [table])].filter(({ length }) => length > 0);
    for (const step of steps) {
      const beside = step === together ? first : undefined;
      await patiently(() => spread(client, step, beside));
      for (const { table, by } of step) log(`${table} is distributed by ${by}`);
    }
    await removeLeftovers(client, distribution);
    return steps.flat().map(({ table }) => table);
  });
}

async function isInstalled(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_extension where extname = 'citus'");
  return rowCount === 1;
}

async function requireSchema(client: pg.Client, newest: number): Promise<void> {
  const { rows: known } = await client.query("select to_regclass('schema_migration') is not null as there");
  const { rows } = known[0].there
    ? await client.query('select count(*)::int as version from schema_migration')
    : { rows: [{ version: 0 }] };
  const { version } = rows[0];
  if (version !== newest) {
    throw new Error(`the schema has version ${version} and this release ${newest}: migrate first, by the same release`);
  }
}

async function requireNode(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_dist_node where shouldhaveshards and noderole = 'primary'");
  if (!rowCount)
    throw new Error('no node takes rows: select citus_set_coordinator_host(…), then citus_add_node(…) for each worker');
}

/** A time-out that a transaction sets for itself would else hold on the coordinator only. For sessions that begin from now on. */
async function letLimitsReachNodes(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    "select current_database() as name, current_setting('citus.propagate_set_commands') as now",
  );
  if (rows[0].now === 'local') return;
  await client.query(`alter database ${pg.escapeIdentifier(rows[0].name)} set citus.propagate_set_commands = 'local'`);
}

async function spreadTables(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ table: string; column: string }>(
    'select logicalrelid::regclass::text as table, coalesce(column_to_column_name(logicalrelid, partkey), $1) as column from pg_dist_partition',
    ['no column'],
  );
  return new Map(rows.map(({ table, column }) => [table, column]));
}

/** Writers wait meanwhile, readers do not. All or none, since foreign keys connect them. */
async function spread(
  client: pg.Client,
  tables: readonly SpreadTable[],
  beside: SpreadTable | undefined,
): Promise<void> {
  await client.query('begin');
  try {
    // Referring tables first, as a booking being made locks them.
    const names = tables.map(({ table }) => table).toReversed();
    await client.query(`lock table ${names.join(', ')} in exclusive mode`);
    for (const { table, by } of tables) {
      const colocated = beside === undefined ? 'none' : beside.table === table ? 'default' : beside.table;
      await client.query('select create_distributed_table($1::regclass, $2, colocate_with => $3)', [
        table,
        by,
        colocated,
      ]);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/** The rows as they were before stay on the coordinator's disk, unseen. */
async function removeLeftovers(client: pg.Client, { together, apart }: Distribution): Promise<void> {
  for (const { table } of [...together, ...apart]) {
    const { rows } = await client.query('select pg_relation_size($1::regclass) > 0 as left', [table]);
    // Those that refer to it go with it.
    if (rows[0].left)
      await patiently(
        async () =>
          void (await client.query('select truncate_local_data_after_distributing_table($1::regclass)', [table])),
      );
  }
}
