// Finds out whether an error of PostgreSQL occurred because the schema of the database does not fit this release.
//
// If a statement names a table or column that does not exist, either the schema does not fit this release, or the
// statement is wrong. PostgreSQL reports both with the same SQLSTATE, so the applied migrations are checked. If they do
// not fit this release, the service is unavailable (503). Otherwise the error is an internal error (500).
import pg from 'pg';
import { errorCode, markAsUnavailable } from './errors.ts';
import { readMigrations, schemaMismatch } from './migrate.ts';

/** The SQLSTATE classes 42 (syntax error or access rule violation) and 3F (invalid schema name). */
const schemaRelatedErrors = /^(42|3F)/;
const timeoutMilliseconds = 2_000;

/**
 * Checks the schema after an error. If the schema does not fit this release, marks the error, so that `isUnavailable`
 * returns true for it.
 */
export type InspectError = (error: unknown) => Promise<void>;

export function isSchemaRelated(error: unknown): boolean {
  return schemaRelatedErrors.test(errorCode(error) ?? '');
}

/**
 * Returns a function that marks an error (`markAsUnavailable`) if the schema of the database does not fit this release.
 * Errors that occur at the same time share one check of the schema. The check opens a separate connection, because all
 * connections of the pool may be in use.
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

/** Whether the schema does not fit this release. Returns false if the database does not respond. */
async function hasMismatch(url: string, migrationsDirectory: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'schema check',
    connectionTimeoutMillis: timeoutMilliseconds,
    query_timeout: timeoutMilliseconds,
  });
  // Without a listener, a lost connection would end the process. The query fails too, which the catch block handles.
  client.on('error', () => {});
  try {
    await client.connect();
    return (await schemaMismatch(client, (await readMigrations(migrationsDirectory)).length)) !== undefined;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
