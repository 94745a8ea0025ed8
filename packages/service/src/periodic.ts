// Runs a periodic job, or polls a queue, until it is stopped.
import type { Logger } from './logging.ts';

export interface LoopOptions {
  readonly name: string;
  /** The longest pause between two runs that succeed. */
  readonly intervalMs: number;
  /** If the result is true, there is more to do and the job runs again at once. Other results are ignored. */
  readonly run: () => Promise<unknown>;
  readonly logger: Logger;
}

export interface Loop {
  /**
   * Runs the job now, or once more after the current run. The promise resolves when no run is in progress. It never
   * rejects, so callers can ignore it.
   */
  readonly wake: () => Promise<void>;
  /** Starts no further run and waits for the current one. */
  readonly stop: () => Promise<void>;
}

/** After errors, pauses grow up to this limit. A longer `intervalMs` stays as it is. */
const maxBackOffMs = 5_000;

/** Starts with a pause. Pauses are random, so that instances do not run a job at the same moments. */
export function startLoop({ name, intervalMs, run, logger }: LoopOptions): Loop {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isRequested = false;
  let isStopped = false;
  let failures = 0;

  const runOnce = async (): Promise<void> => {
    isRequested = false;
    try {
      if ((await run()) === true) isRequested = true;
      failures = 0;
    } catch (err) {
      // A request for another run waits until the back-off ends, so that wake-ups cannot cause a storm of errors.
      isRequested = false;
      failures += 1;
      // Only the first failure of a series is a warning.
      logger[failures === 1 ? 'warn' : 'debug']({ err, job: name }, 'periodic job failed and will run again');
    }
  };

  const runWhileRequested = async (): Promise<void> => {
    do await runOnce();
    while (isRequested && !isStopped);
    running = undefined;
    schedule();
  };

  const wake = (): Promise<void> => {
    if (isStopped) return running ?? Promise.resolve();
    isRequested = true;
    clearTimeout(timer);
    running ??= runWhileRequested();
    return running;
  };

  const schedule = (): void => {
    if (isStopped) return;
    const pause = Math.max(intervalMs, Math.min(maxBackOffMs, intervalMs * 2 ** failures));
    timer = setTimeout(() => void wake(), pause * (0.5 + Math.random() / 2)).unref();
  };
  schedule();

  return {
    wake,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
