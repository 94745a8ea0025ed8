// Implements a read barrier: each read gets a position in the write-ahead log of the primary that was looked up after
// the read began. ReadIndex of the Raft algorithm does the same.
//
// A look-up that is already running may return a position from before the read began. Reads that begin during a look-up
// therefore wait for the next look-up, and share its result.

/** Only one look-up runs at a time, no matter how many calls wait. */
export function createReadBarrier<T>(lookUp: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  const start = (): Promise<T> => {
    const started = lookUp();
    const clear = (): void => {
      if (current === started) current = undefined;
    };
    current = started;
    started.then(clear, clear);
    return started;
  };
  const startNext = (): Promise<T> => {
    next = undefined;
    return start();
  };

  return () => {
    if (!current) return next ?? start();
    next ??= current.then(startNext, startNext);
    return next;
  };
}
