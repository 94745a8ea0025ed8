// Limits how many wrong user codes of devices an address or a browser session can enter (RFC 8628 section 5.1).
//
// Wrong codes are counted over all instances. An attempt is counted before its code is looked up, and taken back if the
// code was right. So parallel attempts cannot try more codes than the limit.
import type { Count, CreateFailureCounter } from './failure-counter.ts';
import { addressKey, nameKey } from './keys.ts';

/** Wrong codes until further attempts are refused, and the seconds in which they are counted. */
const limits = { limit: 10, window: 15 * 60 };

export interface UserCodeKeys {
  readonly address: string;
  /** Identifies the session of the user, or the browser if nobody is signed in. Undefined in a new browser. */
  readonly session: string | undefined;
}

export interface UserCodeAttempt {
  /** To be called when the code was right. The attempt then does not count. */
  readonly succeeded: () => Promise<void>;
}

export interface Refused {
  /** Seconds. */
  readonly retryAfter: number;
}

export type UserCodeGuard = ReturnType<typeof createUserCodeGuard>;

export function createUserCodeGuard(createCounter: CreateFailureCounter) {
  const byAddress = createCounter({ name: 'user-code-address', ...limits });
  const bySession = createCounter({ name: 'user-code-session', ...limits });

  const countersOf = ({ address, session }: UserCodeKeys) => [
    { counter: byAddress, key: addressKey(address) },
    ...(session === undefined ? [] : [{ counter: bySession, key: nameKey(session) }]),
  ];

  return {
    /** Returns the seconds until the next attempt is allowed, or 0. */
    async waitingTime(keys: UserCodeKeys): Promise<number> {
      const counts = await Promise.all(countersOf(keys).map(({ counter, key }) => counter.read(key)));
      return longestWait(counts.filter(({ failures, limit }) => failures >= limit));
    },

    async beginAttempt(keys: UserCodeKeys): Promise<UserCodeAttempt | Refused> {
      const counted = countersOf(keys);
      const takeBack = async (): Promise<void> => {
        await Promise.all(counted.map(({ counter, key }) => counter.subtract(key)));
      };
      const counts = await Promise.all(counted.map(({ counter, key }) => counter.add(key)));
      const retryAfter = longestWait(counts.filter(({ failures, limit }) => failures > limit));
      if (retryAfter === 0) return { succeeded: takeBack };
      await takeBack();
      return { retryAfter };
    },
  };
}

const longestWait = (full: readonly Count[]): number => Math.max(0, ...full.map(({ resetIn }) => resetIn));
