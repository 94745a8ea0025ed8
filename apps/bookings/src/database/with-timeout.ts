// How long do we wait for something that cannot be called off?

/** What comes after the limit is handed to `tooLate`, and its failure to nobody. */
export async function withTimeout<T>(
  milliseconds: number,
  coming: Promise<T>,
  tooLate: (late: T) => void = () => {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let late = false;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late = true;
      reject(Object.assign(new Error('no answer in time'), { name: 'TimeoutError' }));
    }, milliseconds);
  });
  coming.then(
    (value) => late && tooLate(value),
    () => {},
  );
  try {
    return await Promise.race([coming, limit]);
  } finally {
    clearTimeout(timer);
  }
}
