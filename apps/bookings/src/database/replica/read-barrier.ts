// A read barrier: gives each read a position of the primary that was looked up after the read began, like Raft's
// ReadIndex.
//
// A look-up that is already in flight may have seen an older position than a read that begins now needs. Reads that
// begin meanwhile therefore share the next look-up.

/** At most one look-up is in flight, however many calls wait. */
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
