// How often may one address, recipient or facility have something done that costs others (an account, a mail)? Counted over every instance.
import type { CounterOptions, CreateFailureCounter } from './failure-counter.ts';

export interface UsageLimit {
  /** 0 when it may, else seconds to wait. */
  readonly use: (key: string) => Promise<number>;
}

export function createUsageLimit(
  count: CreateFailureCounter,
  options: CounterOptions,
  keyOf: (key: string) => string,
): UsageLimit {
  const counter = count(options);
  return {
    use: async (key) => {
      const { failures, limit, resetIn } = await counter.add(keyOf(key));
      return failures > limit ? resetIn : 0;
    },
  };
}
