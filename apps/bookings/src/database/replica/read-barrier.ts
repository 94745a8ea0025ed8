// Up to where must a read see? As Raft's ReadIndex: a position of the primary that was asked for after the read came. All reads that come
// while a look-up is in flight share the next one, since that one may be older than they are.

/** Each call is answered by a look-up that began after it; one is in flight at a time, however many call. */
export function createReadBarrier<T>(lookUp: () => Promise<T>): () => Promise<T> {
  let flying: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    const mine = lookUp();
    const landed = (): void => {
      if (flying === mine) flying = undefined;
    };
    flying = mine;
    mine.then(landed, landed);
    return mine;
  };
  return () => {
    if (!flying) return next ?? start();
    next ??= flying.then(startNext, startNext);
    return next;
  };

  function startNext(): Promise<T> {
    next = undefined;
    return start();
  }
}
