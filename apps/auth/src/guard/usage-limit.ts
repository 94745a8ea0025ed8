// Limits how often an action may happen, such as registrations from one IP address or pushed authorization requests.
import type { Queryable } from '@bay-booking/service/database/database';
import type { CounterOptions, FailureCounterFactory } from './failure-counter.ts';
import { addressKey } from './keys.ts';

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
    use: async (text: string, on?: Queryable): Promise<number> => {
      const { failures: actions, limit, resetIn } = await counter.add(toKey(text), on);
      return actions > limit ? resetIn : 0;
    },
  };
}

/** Returns 0 if the request is allowed, or else the seconds until one is. Only public clients need the IP address. */
export type LimitPushedRequests = (clientId: string, address: string | undefined) => Promise<number>;

const windowSeconds = 60;

/** Limits the requests, which are stored, of each client and of the users of public clients. */
export function createPushedRequestLimit(createCounter: FailureCounterFactory): LimitPushedRequests {
  const byAddress = createUsageLimit(createCounter, { name: 'push-address', limit: 300, windowSeconds }, addressKey);
  const byClient = createUsageLimit(createCounter, { name: 'push-client', limit: 1_000, windowSeconds });
  return async (clientId, address) => {
    // First, so that the requests above it do not use up the limit that all users of the client share.
    const waitSeconds = address === undefined ? 0 : await byAddress.use(address);
    return waitSeconds > 0 ? waitSeconds : byClient.use(clientId);
  };
}
