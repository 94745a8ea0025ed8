// Lists the periodic jobs. Every instance runs all of them.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';
import { compactChanges } from './changes/compaction.ts';
import { removeExpiredChanges, removeFromFeed } from './changes/retention.ts';
import type { Config } from './config.ts';
import type { Erasure } from './erasure/erase.ts';

export interface PeriodicJob {
  readonly name: string;
  readonly intervalMs: number;
  readonly run: () => Promise<unknown>;
}

interface JobServices {
  readonly db: Database;
  readonly config: Config;
  readonly erasure: Pick<Erasure, 'eraseEnded'>;
  readonly idempotency: { readonly deleteExpired: (now: Date) => Promise<unknown> };
  readonly holds: { readonly deleteExpired: () => Promise<unknown> };
  readonly proofs: { readonly deleteExpired: () => Promise<unknown> };
}

const minute = 60_000;
const day = 24 * 60 * minute;

export function listJobs({ db, config, erasure, idempotency, holds, proofs }: JobServices): readonly PeriodicJob[] {
  const { changeRetentionDays, historyRetentionDays, personalDataDays } = config;
  const daysAgo = (days: number): Date => new Date(Date.now() - days * day);
  const historyStart = (): Date => daysAgo(Math.max(changeRetentionDays, historyRetentionDays));
  return [
    // An expired key, hold or proof has no effect, so its deletion may be late.
    { name: 'idempotency keys', intervalMs: 15 * minute, run: () => idempotency.deleteExpired(new Date()) },
    { name: 'expired holds', intervalMs: minute, run: () => holds.deleteExpired() },
    { name: 'DPoP proofs', intervalMs: 5 * minute, run: () => proofs.deleteExpired() },
    { name: 'compaction', intervalMs: 10_000, run: () => compactChanges(db) },
    {
      name: 'retention of the change feed',
      intervalMs: minute,
      run: () => removeFromFeed(db, daysAgo(changeRetentionDays)),
    },
    {
      name: 'retention of the history',
      intervalMs: minute,
      run: () => removeExpiredChanges(db, historyStart()),
    },
    ...(personalDataDays === 0
      ? []
      : [
          {
            name: 'personal data',
            intervalMs: 20 * minute,
            run: () => erasure.eraseEnded(daysAgo(personalDataDays), historyStart(), new Date()),
          },
        ]),
  ];
}

/** Returns a function that stops the jobs and waits for those that are running. */
export function startJobs(jobs: readonly PeriodicJob[], logger: Logger): () => Promise<unknown> {
  const loops = jobs.map((job) => startLoop({ ...job, logger }));
  return () => Promise.all(loops.map((loop) => loop.stop()));
}
