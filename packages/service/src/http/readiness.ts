// Checks whether the service can serve requests. `GET /health/ready` returns the results (docs/behaviour.md, "Health,
// metrics and logs").
import { type Database, errorCode } from '../database/database.ts';
import { type AppliedMigration, readMigrations, schemaMismatch } from '../database/migrate.ts';

/** Rejects if the service is not ready. The message of the error is public, so it must not contain internal details. */
export type Check = () => Promise<void>;

export interface Readiness {
  readonly ready: boolean;
  /** The result of each check, by the name of the check: 'ok' or the message of its error. */
  readonly checks: Readonly<Record<string, string>>;
}

const checkTimeoutMs = 2_000;
/** The SQLSTATE of a query for a table that does not exist. */
const undefinedTable = '42P01';

/** Returns a function that runs the named checks in parallel. Simultaneous calls of the function share one run. */
export function createReadiness(checks: Readonly<Record<string, Check>>): () => Promise<Readiness> {
  let running: Promise<Readiness> | undefined;
  const run = async (): Promise<Readiness> => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await resultOf(check)] as const),
    );
    return { ready: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) };
  };
  return () => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Returns 'ok', or else why the check failed: the message of its error, or that the check took too long. */
async function resultOf(check: Check): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('no answer in time'), checkTimeoutMs);
  });
  try {
    return await Promise.race([
      check().then(
        () => 'ok',
        (error: Error) => error.message,
      ),
      timeout,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns a check that the database responds, and that this release can use its schema. */
export function databaseCheck(db: Database, migrationsDirectory: string): Check {
  const migrations = readMigrations(migrationsDirectory);
  // If the migrations cannot be read, each run of the check rejects. Without this handler, the process would end.
  migrations.catch(() => {});
  return async () => {
    const mismatch = schemaMismatch(await appliedMigrations(db), (await migrations).length);
    if (mismatch) throw new Error(mismatch);
  };
}

async function appliedMigrations(db: Database): Promise<readonly AppliedMigration[]> {
  try {
    return await db('schema_migration').select('version', 'name').orderBy('version');
  } catch (error) {
    if (errorCode(error) === undefinedTable) return [];
    throw new Error('database does not answer', { cause: error });
  }
}
