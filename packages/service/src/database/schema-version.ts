// Finds out whether a PostgreSQL error occurred because the database's schema does not fit this release.
//
// PostgreSQL reports a missing table or column with the same SQLSTATE if the statement is wrong. The applied migrations
// show whether the service is unavailable (503) or has an internal error (500).
import pg from 'pg';
import { errorCode, markAsUnavailable } from './errors.ts';
import { readMigrations, schemaMismatch } from './migrate.ts';

/** The SQLSTATE classes 42 (syntax error or access rule violation) and 3F (invalid schema name). */
const schemaRelatedErrors = /^(42|3F)/;
const timeoutMilliseconds = 2_000;

/** Marks the error as unavailable if the schema does not fit this release. */
export type InspectError = (error: unknown) => Promise<void>;

export const isSchemaRelated = (error: unknown): boolean => schemaRelatedErrors.test(errorCode(error) ?? '');

/** Simultaneous errors share a check, which opens a connection because the pool may have no free one. */
export function createErrorInspector(url: string, migrationsDirectory: string): InspectError {
  let check: Promise<boolean> | undefined;
  return async (error) => {
    check ??= hasMismatch(url, migrationsDirectory).finally(() => {
      check = undefined;
    });
    if (await check) markAsUnavailable(error);
  };
}

/** Returns false if the database does not respond. */
async function hasMismatch(url: string, migrationsDirectory: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'schema check',
    connectionTimeoutMillis: timeoutMilliseconds,
    query_timeout: timeoutMilliseconds,
  });
  // A lost connection without a listener would end the process. The query fails too, which the catch block handles.
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
