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
    next = undefined;
    const clear = (): void => {
      current = undefined;
    };
    current = lookUp();
    current.then(clear, clear);
    return current;
  };

  return () => {
    if (current) next ??= current.then(start, start);
    // When a look-up has just ended and the next one has not started yet, `next` is set and `current` is not.
    return next ?? start();
  };
}
