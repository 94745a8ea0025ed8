// Limits how often something is done for one IP address, e-mail recipient, facility or account. All instances share the
// counts.
import type { CounterOptions, CreateFailureCounter } from './failure-counter.ts';

export interface UsageLimit {
  /** Counts one use. Returns 0 if the use is allowed, or else the seconds after which a use is allowed again. */
  readonly use: (key: string) => Promise<number>;
}

/** `toKey` converts the argument of `use` to the key under which the use is counted. */
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
