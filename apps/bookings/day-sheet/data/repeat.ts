// Says when the page repeats a failed request.
const firstDelayMs = 2_500;
const maxDelayMs = 60_000;

/** `failures` counts the failures in a row. */
export const repeatDelay = (failures: number): number => Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs);

/** Waits before a repetition. The events `connected` and `catch-up` end the wait. */
export async function waitToRepeat(failures: number, events: EventTarget, signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  await new Promise<unknown>((resolve) => {
    const timer = setTimeout(resolve, repeatDelay(failures));
    const options = { signal: waiting.signal };
    for (const type of ['connected', 'catch-up']) events.addEventListener(type, resolve, options);
    signal.addEventListener('abort', resolve, options);
    waiting.signal.addEventListener('abort', () => clearTimeout(timer));
    if (signal.aborted) resolve(undefined);
  });
  waiting.abort();
}
