// Can the process serve? Named checks, run together, each with a time limit; simultaneous questions share one run.
import { type Database, errorCode } from './database.ts';
import { readMigrations } from './migrate.ts';

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

/** The database answers and its schema is the one that this release was written for, neither older nor newer. */
export function databaseCheck(db: Database, migrationsDirectory: string): Check {
  const expected = readMigrations(migrationsDirectory).then((migrations) => migrations.length);
  expected.catch(() => {});
  return async () => {
    const wanted = await expected;
    const found = await schemaVersion(db);
    if (found < wanted) throw new Error(`schema version ${found} is older than ${wanted}: run migrate`);
    if (found > wanted) throw new Error(`schema version ${found} is newer than ${wanted}: this release is too old`);
  };
}

async function schemaVersion(db: Database): Promise<number> {
  try {
    const [row] = await db('schema_migration').max('version as version');
    return Number(row?.version ?? 0);
  } catch (error) {
    if (errorCode(error) === '42P01') return 0;
    throw new Error('database does not answer', { cause: error });
  }
}
