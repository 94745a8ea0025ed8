// Limits how many wrong user codes can be entered from one IP address or in one session (RFC 8628 section 5.1).
//
// An attempt is counted before its code is looked up, so that parallel attempts cannot try more codes than the limit.
import type { Count, FailureCounterFactory } from './failure-counter.ts';
import { addressKey, nameKey } from './keys.ts';

const limits = { limit: 10, windowSeconds: 15 * 60 };

export interface UserCodeKeys {
  readonly address: string;
  /** An id of the user's session, or of the browser if nobody is signed in. Undefined for a new browser. */
  readonly session: string | undefined;
}

export function createUserCodeGuard(createCounter: FailureCounterFactory) {
  const byAddress = createCounter({ name: 'user-code-address', ...limits });
  const bySession = createCounter({ name: 'user-code-session', ...limits });
  const countersOf = ({ address, session }: UserCodeKeys) => [
    { counter: byAddress, key: addressKey(address) },
    ...(session === undefined ? [] : [{ counter: bySession, key: nameKey(session) }]),
  ];
  return {
    /** Returns the seconds until the next attempt is allowed, or 0 if it is allowed now. */
    async waitingTime(keys: UserCodeKeys): Promise<number> {
      const counts = await Promise.all(countersOf(keys).map(({ counter, key }) => counter.read(key)));
      return longestWait(counts.filter(({ failures, limit }) => failures >= limit));
    },

    /**
     * Counts an attempt. If the code was right, the caller must call `succeeded`, which undoes the count. If the limit
     * was already reached, the attempt is rejected and not counted. `retryAfter` is in seconds.
     */
    async beginAttempt(keys: UserCodeKeys): Promise<{ succeeded: () => Promise<void> } | { retryAfter: number }> {
      const counters = countersOf(keys);
      const undo = async (): Promise<void> => {
        await Promise.all(counters.map(({ counter, key }) => counter.subtract(key)));
      };
      const counts = await Promise.all(counters.map(({ counter, key }) => counter.add(key)));
      const retryAfter = longestWait(counts.filter(({ failures, limit }) => failures > limit));
      if (retryAfter === 0) return { succeeded: undo };
      await undo();
      return { retryAfter };
    },
  };
}

const longestWait = (counts: readonly Count[]): number => Math.max(0, ...counts.map(({ resetIn }) => resetIn));
