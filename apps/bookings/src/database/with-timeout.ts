// Limits how long a caller waits for a promise that cannot be cancelled.

/**
 * Returns the value of the promise, or rejects with a `TimeoutError` after `milliseconds`. A value that arrives later
 * is passed to `onLateValue`, which can release its resources. A rejection that arrives later is ignored.
 */
export async function withTimeout<T>(
  milliseconds: number,
  promise: Promise<T>,
  onLateValue: (value: T) => void = () => {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      reject(Object.assign(new Error(`no response within ${milliseconds} ms`), { name: 'TimeoutError' }));
    }, milliseconds);
  });
  const releaseLateValue = (value: T): void => {
    if (isLate) onLateValue(value);
  };
  promise.then(releaseLateValue, () => {});
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
