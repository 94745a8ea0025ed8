// Runs periodic jobs, each at its own interval. Every instance runs all of them.
import type { Logger } from '@bay-booking/service/logging';
import { withJitter } from './jitter.ts';

export interface PeriodicJob {
  readonly name: string;
  readonly intervalMilliseconds: number;
  readonly run: () => Promise<unknown>;
}

/** Returns a function that stops the jobs. A run that has begun is not interrupted. */
export function startPeriodicJobs(jobs: readonly PeriodicJob[], logger: Logger): () => void {
  const stops = jobs.map((job) => startJob(job, logger));
  return () => {
    for (const stop of stops) stop();
  };
}

function startJob({ name, intervalMilliseconds, run }: PeriodicJob, logger: Logger): () => void {
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const schedule = (): void => {
    if (isStopped) return;
    // The pause varies by 50 % in both directions, so that the instances do not all run a job at the same time.
    timer = setTimeout(runOnce, withJitter(intervalMilliseconds, 0.5));
    timer.unref();
  };
  const runOnce = (): void => {
    run()
      .catch((err: unknown) => logger.warn({ err, job: name }, 'cleanup job failed; it will run again'))
      .finally(schedule);
  };
  schedule();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
