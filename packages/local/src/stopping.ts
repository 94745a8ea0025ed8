// Decides when the launcher stops the system: on Ctrl-C, on SIGTERM, when the terminal closes, or when the npm process
// that started the launcher has ended.
export interface Stopping {
  /** Aborts with the reason when the system must stop. */
  signal: AbortSignal;
}

const parentCheckMilliseconds = 500;
/**
 * A signal counts as a second Ctrl-C only if this time has passed since the first signal. Under npm, one Ctrl-C sends
 * two signals, one from the terminal and one from npm.
 */
const sameKeypressMilliseconds = 1_000;

/** Calls `onStop` once, with the reason for the stop. Calls `onSecondSignal` for each later signal of the user. */
export function watchForStop(options: {
  isUnderNpm: boolean;
  onStop: (reason: string) => void;
  onSecondSignal: () => void;
}): Stopping {
  const controller = new AbortController();
  let stoppedAt: number | undefined;
  const stop = (reason: string) => {
    if (stoppedAt === undefined) {
      stoppedAt = Date.now();
      options.onStop(reason);
      controller.abort(new Error(reason));
    } else if (Date.now() - stoppedAt > sameKeypressMilliseconds) options.onSecondSignal();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop(name));
  if (options.isUnderNpm) {
    // When npm ends, another process becomes the parent of the launcher.
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      stop('npm has ended');
    }, parentCheckMilliseconds);
    timer.unref();
  }
  return { signal: controller.signal };
}
