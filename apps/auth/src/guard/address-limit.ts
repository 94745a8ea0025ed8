// How often may one address, or one recipient, have something done that costs others (an account, a mail)? Counted over every instance.
import type { CounterOptions, CountFailures } from './failure-counter.ts';

export interface AddressLimit {
  /** 0 when it may, else seconds to wait. */
  readonly use: (key: string) => Promise<number>;
}

export function limitUse(count: CountFailures, options: CounterOptions, keyOf: (key: string) => string): AddressLimit {
  const counter = count(options);
  return {
    use: async (key) => {
      const { failures, limit, resetIn } = await counter.add(keyOf(key));
      return failures > limit ? resetIn : 0;
    },
  };
}
