// Decides when the launcher stops the system: on Ctrl-C, on SIGTERM, when the terminal closes, or when the parent npm
// process ends.

const PARENT_CHECK_MS = 500;
/** Under npm, one Ctrl-C sends two signals: one from the terminal and one from npm. */
const SAME_KEYPRESS_MS = 1_000;

/**
 * Returns a signal that aborts when the system must stop. Calls `onStop` with the reason. Calls `onSecondSignal` for
 * each signal that arrives more than a second later.
 */
export function watchForStop(options: {
  isUnderNpm: boolean;
  onStop: (reason: string) => void;
  onSecondSignal: () => void;
}): AbortSignal {
  const controller = new AbortController();
  let stoppedAt = 0;
  const requestStop = (reason: string) => {
    if (!controller.signal.aborted) {
      stoppedAt = Date.now();
      options.onStop(reason);
      controller.abort(new Error(reason));
    } else if (Date.now() - stoppedAt > SAME_KEYPRESS_MS) options.onSecondSignal();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => requestStop(name));
  if (options.isUnderNpm) {
    // When npm ends, the launcher gets another parent process.
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      if (!controller.signal.aborted) requestStop('npm has ended');
    }, PARENT_CHECK_MS);
    timer.unref();
  }
  return controller.signal;
}
