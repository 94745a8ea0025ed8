// Limits how often an action may happen, such as the registrations from one IP address.
import type { CounterOptions, FailureCounterFactory } from './failure-counter.ts';

export type UsageLimit = ReturnType<typeof createUsageLimit>;

/** `toKey` converts the argument of `use` to the key under which the action is counted. */
export function createUsageLimit(
  createCounter: FailureCounterFactory,
  options: CounterOptions,
  toKey: (text: string) => string = (text) => text,
) {
  const counter = createCounter(options);
  return {
    /** Counts one action. Returns 0 if it is allowed, or else the seconds after which an action is allowed again. */
    use: async (text: string): Promise<number> => {
      const { failures: actions, limit, resetIn } = await counter.add(toKey(text));
      return actions > limit ? resetIn : 0;
    },
  };
}
