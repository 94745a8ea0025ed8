// Distributes tables over the nodes of a Citus cluster (docs/operations/scale.md). Tables that are already distributed
// are not changed, so an interrupted run can be repeated. On a PostgreSQL without Citus, nothing is changed.
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
  /** The distribution column, whose value decides on which node a row is stored. */
  readonly column: string;
}

export interface Distribution {
  /**
   * Tables whose rows with the same value in `column` are stored on one node. Each table comes after the tables that it
   * references.
   */
  readonly colocated: readonly [DistributedTable, ...DistributedTable[]];
  /** Tables that are distributed independently of all others. */
  readonly independent: readonly DistributedTable[];
  /** Tables that stay on the coordinator. */
  readonly local: readonly string[];
}

export interface DistributeOptions {
  readonly url: string;
  /** The directory of the migrations, all of which must have been applied. */
  readonly directory: string;
  readonly distribution: Distribution;
  readonly log?: (message: string) => void;
}

/**
 * Distributes the tables. Returns the names of the tables that this call has distributed, or undefined if Citus is not
 * installed.
 * @throws {Error} if the database has another schema than this release, if no node accepts rows, or if a table has
 * another distribution column
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

/** @throws {Error} if a table is already distributed by another column */
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

/** @throws {Error} if the schema of the database has another version than the one of this release */
async function requireSchemaVersion(client: pg.Client, expected: number): Promise<void> {
  const { length: version } = await readAppliedMigrations(client);
  if (version === expected) return;
  throw new Error(
    `the schema has version ${version}, and this release needs ${expected}: run migrate of this release first`,
  );
}

/** @throws {Error} if the cluster has no node for the rows of distributed tables */
async function requireNode(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_dist_node where shouldhaveshards and noderole = 'primary'");
  if (!rowCount) {
    throw new Error(
      'no node accepts rows: call citus_set_coordinator_host(…), then citus_add_node(…) for each worker node',
    );
  }
}

/**
 * Changes a setting of the database. By default, Citus applies `set local lock_timeout` only on the coordinator. With
 * this setting, Citus also sends the command to the worker nodes. The setting applies to sessions that start
 * afterwards.
 */
async function propagateSettings(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    "select current_database() as name, current_setting('citus.propagate_set_commands') as current",
  );
  if (rows[0].current === 'local') return;
  await client.query(`alter database ${pg.escapeIdentifier(rows[0].name)} set citus.propagate_set_commands = 'local'`);
}

/**
 * Returns the distribution column of every distributed table, by the name of the table. For a reference table, which
 * Citus copies to every node, the map contains the text `no column`.
 */
async function distributionColumns(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `select logicalrelid::regclass::text as table, coalesce(column_to_column_name(logicalrelid, partkey), $1) as column
     from pg_dist_partition`,
    ['no column'],
  );
  return new Map(rows.map(({ table, column }) => [table, column]));
}

/**
 * Distributes the tables in one transaction, because foreign keys connect them. After an error, none of them is
 * distributed. During this transaction, transactions that write to the tables wait, and queries do not wait.
 */
async function distributeTables(
  client: pg.Client,
  tables: readonly DistributedTable[],
  distribution: Distribution,
): Promise<void> {
  await inTransaction(client, async () => {
    // Transactions that create a booking lock a referencing table before the table that it references. The tables are
    // locked in the same order here, which prevents deadlocks.
    const names = tables.map(({ table }) => table).toReversed();
    await client.query(`lock table ${names.join(', ')} in exclusive mode`);
    for (const table of tables) {
      const values = [table.table, table.column, colocationOf(table, distribution)];
      await client.query('select create_distributed_table($1::regclass, $2, colocate_with => $3)', values);
    }
  });
}

/**
 * Returns the value of `colocate_with` for a table: `default` for the first of the colocated tables, the name of this
 * first table for the other colocated tables, and `none` for all other tables.
 */
function colocationOf(table: DistributedTable, { colocated }: Distribution): string {
  if (!colocated.includes(table)) return 'none';
  return table === colocated[0] ? 'default' : colocated[0].table;
}

/**
 * Removes the original rows of distributed tables. Citus copies the rows to the nodes. The original rows stay on the
 * disk of the coordinator, although no query reads them any more.
 */
async function removeLocalRows(client: pg.Client, { colocated, independent }: Distribution): Promise<void> {
  for (const { table } of [...colocated, ...independent]) {
    const { rows } = await client.query('select pg_relation_size($1::regclass) > 0 as has_rows', [table]);
    if (!rows[0].has_rows) continue;
    // The SQL function also removes the local rows of all tables that reference this table, so these tables have no
    // rows when the loop reaches them.
    await retryOnLockError(async () => {
      await client.query('select truncate_local_data_after_distributing_table($1::regclass)', [table]);
    });
  }
}
