// Decides when the launcher stops the system: on Ctrl-C, on SIGTERM, when the terminal closes, or when the npm process
// that started the launcher has ended.
export interface Stopping {
  /** Aborts with the reason when the system must stop. */
  signal: AbortSignal;
}

const parentCheckMilliseconds = 500;
/**
 * A signal counts as a second Ctrl-C only if this time has passed since the stop began. Under npm, one Ctrl-C sends two
 * signals, one from the terminal and one from npm.
 */
const sameKeypressMilliseconds = 1_000;

/**
 * Calls `onStop` once, with the reason for the stop. Calls `onSecondSignal` for each signal that arrives more than a
 * second later.
 */
export function watchForStop(options: {
  isUnderNpm: boolean;
  onStop: (reason: string) => void;
  onSecondSignal: () => void;
}): Stopping {
  const controller = new AbortController();
  let stopRequestedAt: number | undefined;
  const requestStop = (reason: string) => {
    stopRequestedAt = Date.now();
    options.onStop(reason);
    controller.abort(new Error(reason));
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (stopRequestedAt === undefined) requestStop(name);
      else if (Date.now() - stopRequestedAt > sameKeypressMilliseconds) options.onSecondSignal();
    });
  }
  if (options.isUnderNpm) {
    // When npm ends, another process becomes the parent of the launcher.
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      if (stopRequestedAt === undefined) requestStop('npm has ended');
    }, parentCheckMilliseconds);
    timer.unref();
  }
  return { signal: controller.signal };
}
