// Distributes tables over the nodes of a Citus cluster (docs/operations/scale.md). Skips tables that are already
// distributed, so an interrupted run can be repeated. Changes nothing on PostgreSQL without Citus.
import pg from 'pg';
import {
  inTransaction,
  readAppliedMigrations,
  readMigrations,
  retryOnLockError,
  withMigrationLock,
} from './migrate.ts';

export interface DistributedTable {
  readonly table: string;
  /** The distribution column. Its value decides which node stores a row. */
  readonly column: string;
}

export interface Distribution {
  /** Rows with the same value in `column` are on one node. Each table comes after the tables that it references. */
  readonly colocated: readonly [DistributedTable, ...DistributedTable[]];
  readonly independent: readonly DistributedTable[];
  readonly local: readonly string[];
}

export interface DistributeOptions {
  readonly url: string;
  /** The migrations directory. All its migrations must have been applied. */
  readonly directory: string;
  readonly distribution: Distribution;
  readonly log?: (message: string) => void;
}

/**
 * Returns the names of the newly distributed tables, or undefined if Citus is not installed.
 *
 * @throws {Error} if the schema is not of this release, no node accepts rows, or a table has another column
 */
export async function distribute(options: DistributeOptions): Promise<readonly string[] | undefined> {
  const { url, directory, distribution, log = () => {} } = options;
  const migrations = await readMigrations(directory);
  return withMigrationLock(url, 'distribute', async (client) => {
    if (!(await isCitusInstalled(client))) return undefined;
    await requireSchemaVersion(client, migrations.length);
    await requireNode(client);
    await propagateSettings(client);
    const { colocated, independent } = distribution;
    const existing = await distributionColumns(client);
    checkDistributionColumns([...colocated, ...independent], existing);
    const isMissing = ({ table }: DistributedTable): boolean => !existing.has(table);
    const missingGroups = [colocated.filter(isMissing), ...independent.filter(isMissing).map((table) => [table])];
    for (const tables of missingGroups) {
      if (tables.length === 0) continue;
      await retryOnLockError(() => distributeTables(client, tables, distribution));
      for (const { table, column } of tables) log(`${table} is distributed by ${column}`);
    }
    await removeLocalRows(client, distribution);
    return missingGroups.flat().map(({ table }) => table);
  });
}

function checkDistributionColumns(tables: readonly DistributedTable[], existing: ReadonlyMap<string, string>): void {
  for (const { table, column } of tables) {
    const current = existing.get(table) ?? column;
    if (current !== column) throw new Error(`${table} is distributed by ${current}, not by ${column}`);
  }
}

async function isCitusInstalled(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_extension where extname = 'citus'");
  return rowCount === 1;
}

async function requireSchemaVersion(client: pg.Client, expected: number): Promise<void> {
  const { length: version } = await readAppliedMigrations(client);
  if (version === expected) return;
  throw new Error(
    `the schema has version ${version}, and this release needs ${expected}: run migrate of this release first`,
  );
}

async function requireNode(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_dist_node where shouldhaveshards and noderole = 'primary'");
  if (!rowCount) {
    throw new Error(
      'no node accepts rows: call citus_set_coordinator_host(…), then citus_add_node(…) for each worker node',
    );
  }
}

/** By default, Citus applies `set local lock_timeout` only on the coordinator. */
async function propagateSettings(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    "select current_database() as name, current_setting('citus.propagate_set_commands') as current",
  );
  if (rows[0].current === 'local') return;
  await client.query(`alter database ${pg.escapeIdentifier(rows[0].name)} set citus.propagate_set_commands = 'local'`);
}

/** By table name. A reference table, which Citus copies to every node, has `no column`. */
async function distributionColumns(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `select logicalrelid::regclass::text as table, coalesce(column_to_column_name(logicalrelid, partkey), $1) as column
     from pg_dist_partition`,
    ['no column'],
  );
  return new Map(rows.map(({ table, column }) => [table, column]));
}

/** Foreign keys connect the tables, so one transaction distributes them. Other transactions wait only to write. */
async function distributeTables(client: pg.Client, tables: readonly DistributedTable[], distribution: Distribution) {
  await inTransaction(client, async () => {
    // A transaction that creates a booking locks a table before the tables that it references. The same order here
    // prevents deadlocks.
    const names = tables.map(({ table }) => table).toReversed();
    await client.query(`lock table ${names.join(', ')} in exclusive mode`);
    for (const table of tables) {
      const values = [table.table, table.column, colocationOf(table, distribution)];
      await client.query('select create_distributed_table($1::regclass, $2, colocate_with => $3)', values);
    }
  });
}

/** Naming the first colocated table in `colocate_with` selects the same nodes. */
function colocationOf(table: DistributedTable, { colocated }: Distribution): string {
  if (!colocated.includes(table)) return 'none';
  return table === colocated[0] ? 'default' : colocated[0].table;
}

/** After Citus has copied rows to the nodes, the original rows stay on the coordinator's disk. */
async function removeLocalRows(client: pg.Client, { colocated, independent }: Distribution): Promise<void> {
  for (const { table } of [...colocated, ...independent]) {
    const { rows } = await client.query('select pg_relation_size($1::regclass) > 0 as has_rows', [table]);
    if (!rows[0].has_rows) continue;
    // The function also removes the rows of all tables that reference this table.
    await retryOnLockError(async () => {
      await client.query('select truncate_local_data_after_distributing_table($1::regclass)', [table]);
    });
  }
}
