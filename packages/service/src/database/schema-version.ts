// Decides whether the schema of a database fits this release, by the migrations that were applied.
//
// If a statement names a table or column that does not exist, either the schema does not fit this release, or the
// statement is wrong. PostgreSQL reports both with the same SQLSTATE, so the applied migrations decide: an instance
// whose database is not migrated is unavailable (503), and a wrong statement is an internal error (500).
import pg from 'pg';
import { errorCode, markAsUnavailable } from './errors.ts';
import { type AppliedMigration, readMigrations, schemaMismatch } from './migrate.ts';

/** Class 42 (syntax error or access rule violation) and 3F (invalid schema name): errors that no data can cause. */
const schemaRelatedErrors = /^(42|3F)/;
const timeoutMilliseconds = 2_000;

/** Resolves after `error` has been marked as unavailable if the schema caused it. */
export type InspectError = (error: unknown) => Promise<void>;

export function isSchemaRelated(error: unknown): boolean {
  return schemaRelatedErrors.test(errorCode(error) ?? '');
}

/**
 * Errors that occur together share one check, so that at most one check runs at a time. The check opens a connection
 * of its own, because the pool may be exhausted.
 */
export function createErrorInspector(url: string, migrationsDirectory: string): InspectError {
  let check: Promise<boolean> | undefined;
  return async (error) => {
    check ??= hasMismatch(url, migrationsDirectory).finally(() => {
      check = undefined;
    });
    if (await check) markAsUnavailable(error);
  };
}

/** False if the database does not respond. */
async function hasMismatch(url: string, migrationsDirectory: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'schema check',
    connectionTimeoutMillis: timeoutMilliseconds,
    query_timeout: timeoutMilliseconds,
  });
  client.on('error', () => {});
  try {
    const { length: expected } = await readMigrations(migrationsDirectory);
    await client.connect();
    const { rows } = await client.query<AppliedMigration>(
      'select version, name from schema_migration order by version',
    );
    return schemaMismatch(rows, expected) !== undefined;
  } catch (error) {
    return errorCode(error) === '42P01';
  } finally {
    await client.end().catch(() => {});
  }
}
