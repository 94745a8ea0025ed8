// Checks whether the service can serve requests (docs/behaviour.md, "Health, metrics and logs").
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import { readMigrations, schemaMismatch } from '../database/migrate.ts';

/** Rejects if the service is not ready. The error's message is public. */
export type Check = () => Promise<void>;

export interface Readiness {
  readonly ready: boolean;
  /** 'ok' or the error's message, by the check's name. */
  readonly checks: Readonly<Record<string, string>>;
}

const checkTimeoutMs = 2_000;

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

function resultOf(check: Check): Promise<string> {
  const result = check().then(
    () => 'ok',
    (error: Error) => error.message,
  );
  return Promise.race([result, sleep(checkTimeoutMs, 'no answer in time', { ref: false })]);
}

/** Checks that the database responds and that this release can use its schema. */
export function databaseCheck(db: Database, migrationsDirectory: string): Check {
  let expected: number | undefined;
  return async () => {
    expected ??= (await readMigrations(migrationsDirectory)).length;
    const mismatch = await schemaMismatch(db.connections.pool, expected).catch((cause) => {
      throw new Error('database does not answer', { cause });
    });
    if (mismatch) throw new Error(mismatch);
  };
}
