// How often may one address, recipient or facility have something done that costs others (an account, a mail)? Counted over every instance.
import type { CounterOptions, CountFailures } from './failure-counter.ts';

export interface UseLimit {
  /** 0 when it may, else seconds to wait. */
  readonly use: (key: string) => Promise<number>;
}

export function limitUse(count: CountFailures, options: CounterOptions, keyOf: (key: string) => string): UseLimit {
  const counter = count(options);
  return {
    use: async (key) => {
      const { failures, limit, resetIn } = await counter.add(keyOf(key));
      return failures > limit ? resetIn : 0;
    },
  };
}
