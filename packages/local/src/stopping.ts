// When does everything end? On Ctrl-C, SIGTERM, a closed terminal, or when npm, which started us, is gone.
export interface Stopping {
  /** Aborted with the reason. */
  signal: AbortSignal;
}

const PARENT_CHECK_MS = 500;
/** Ctrl-C reaches us twice under npm: from the terminal and handed on by npm. */
const SAME_KEYPRESS_MS = 1_000;

export function watchForStop(options: {
  underNpm: boolean;
  onStop: (reason: string) => void;
  onHurry: () => void;
}): Stopping {
  const controller = new AbortController();
  let stoppedAt: number | undefined;
  const stop = (reason: string) => {
    if (stoppedAt === undefined) {
      stoppedAt = Date.now();
      options.onStop(reason);
      controller.abort(new Error(reason));
    } else if (Date.now() - stoppedAt > SAME_KEYPRESS_MS) options.onHurry();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop(name));
  if (options.underNpm) {
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      stop('npm is gone');
    }, PARENT_CHECK_MS);
    timer.unref();
  }
  return { signal: controller.signal };
}
