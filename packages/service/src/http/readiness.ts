// Can the process serve? Named checks, run together, each with a time limit; simultaneous questions share one run.
import { type Database, errorCode } from '../database/database.ts';
import { readMigrations } from '../database/migrate.ts';

/** Resolves when all is well; the message of its rejection is shown to whoever asks, so it holds nothing inner. */
export type Check = () => Promise<void>;

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

const limit = 2_000;

export function createReadiness(checks: Readonly<Record<string, Check>>): () => Promise<Readiness> {
  let running: Promise<Readiness> | undefined;
  const run = async (): Promise<Readiness> => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await outcome(check)] as const),
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

async function outcome(check: Check): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('no answer in time'), limit);
  });
  try {
    return await Promise.race([
      check().then(
        () => 'ok',
        (error: Error) => error.message,
      ),
      late,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The database answers and its schema is one that this release runs on: no migration of its own is missing, and whatever a newer release
 * has applied since is called `expand_…`, so that the instances of the release before serve on while the new ones take over.
 */
export function databaseCheck(db: Database, migrationsDirectory: string): Check {
  const expected = readMigrations(migrationsDirectory).then((migrations) => migrations.length);
  expected.catch(() => {});
  return async () => {
    const wanted = await expected;
    const applied = await appliedMigrations(db);
    if (applied.length < wanted) {
      throw new Error(`schema version ${applied.length} is older than ${wanted}: run migrate`);
    }
    const breaking = applied.slice(wanted).find(({ name }) => !name.startsWith('expand_'));
    if (breaking) {
      throw new Error(`schema version ${breaking.version} is newer than ${wanted}: this release is too old`);
    }
  };
}

async function appliedMigrations(db: Database): Promise<readonly { version: number; name: string }[]> {
  try {
    return await db('schema_migration').select('version', 'name').orderBy('version');
  } catch (error) {
    if (errorCode(error) === '42P01') return [];
    throw new Error('database does not answer', { cause: error });
  }
}
