// Checks whether the service can serve requests (docs/behaviour.md, "Health, metrics and logs").
import { type Database, errorCode } from '../database/database.ts';
import { type AppliedMigration, readMigrations, schemaMismatch } from '../database/migrate.ts';

/** Rejects if the service is not ready. The message of the error is public. */
export type Check = () => Promise<void>;

export interface Readiness {
  readonly ready: boolean;
  /** 'ok' or the message of the error, by the name of the check. */
  readonly checks: Readonly<Record<string, string>>;
}

const checkTimeoutMs = 2_000;
/** The SQLSTATE of a query for a table that does not exist. */
const undefinedTable = '42P01';

/** Simultaneous calls share one run of the checks. */
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

/** The database responds, and this release can use its schema. */
export function databaseCheck(db: Database, migrationsDirectory: string): Check {
  const migrations = readMigrations(migrationsDirectory);
  // Each run of the check rejects. Without this handler, the process would end.
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
