// Defines functions that wait, and a function that limits the duration of work. All of them stop when an AbortSignal is
// aborted.

/**
 * Runs `work` with a signal that is aborted when `signal` is aborted or `milliseconds` have passed. The listener on
 * `signal` is removed afterwards. AbortSignal.any is not used, because it would leave one entry for each request on
 * `signal`, which may exist for months. `work` must end with an error when its signal is aborted.
 * @throws the error of `work`, such as a TimeoutError, or the reason of `signal` if `signal` is already aborted
 */
export async function withTimeout<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(
    () => controller.abort(new DOMException(`No response within ${milliseconds} ms`, 'TimeoutError')),
    milliseconds,
  );
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** @throws the reason of `signal` as soon as it is aborted */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/**
 * Waits for a promise that several callers share. An abort ends only the waiting of this caller.
 * @throws the error of the promise, or the reason of `signal` as soon as it is aborted
 */
export async function waitFor<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
