// Limits the pushed authorization requests, which are stored, of each client and of the users of public clients.
import type { FailureCounterFactory } from './failure-counter.ts';
import { addressKey } from './keys.ts';
import { createUsageLimit } from './usage-limit.ts';

/** Returns 0 if the request is allowed, or else the seconds until one is. Only public clients need the address. */
export type LimitPushedRequests = (clientId: string, address: string | undefined) => Promise<number>;

const windowSeconds = 60;

export function createPushedRequestLimit(createCounter: FailureCounterFactory): LimitPushedRequests {
  const byAddress = createUsageLimit(createCounter, { name: 'push-address', limit: 300, windowSeconds }, addressKey);
  const byClient = createUsageLimit(createCounter, { name: 'push-client', limit: 1_000, windowSeconds });
  return async (clientId, address) => {
    // First, so that the requests above it do not use up the limit that all users of the client share.
    const waitSeconds = address === undefined ? 0 : await byAddress.use(address);
    return waitSeconds > 0 ? waitSeconds : byClient.use(clientId);
  };
}
