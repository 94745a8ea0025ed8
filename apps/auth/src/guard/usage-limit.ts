// Limits how often an address, recipient or facility may cause work or e-mails, counted over all instances.
import type { CounterOptions, CreateFailureCounter } from './failure-counter.ts';

export interface UsageLimit {
  /** Counts one use. Returns 0 if it is allowed, else the seconds to wait. */
  readonly use: (key: string) => Promise<number>;
}

/** `toKey` turns the text that callers pass into the key that is counted. */
export function createUsageLimit(
  createCounter: CreateFailureCounter,
  options: CounterOptions,
  toKey: (text: string) => string,
): UsageLimit {
  const counter = createCounter(options);
  return {
    use: async (text) => {
      const { failures, limit, resetIn } = await counter.add(toKey(text));
      return failures > limit ? resetIn : 0;
    },
  };
}
