// Slows down and locks out repeated failed sign-ins (docs/behaviour-auth.md, "Sign-in protection").
//
// Failures are counted for each user name, even if no account has it, and for each IP address. A browser that has
// signed in to the account before has a separate count: nobody else can lock the owner out of this browser.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lockout } from '../config.ts';
import type { Count, FailureCounterFactory } from './failure-counter.ts';
import { accountCounter } from './failures-store.ts';
import { addressKey, nameKey } from './keys.ts';

const failuresBeforeSlowDown = 3;
const maxDoublings = 3;
/** More attempts are rejected, to limit the memory. */
const maxWaitingAttempts = 200;
const retryWhenFullSeconds = 10;

interface LockedOut {
  /** The seconds after which the user may try again. */
  readonly retryAfter: number;
}

export interface AttemptKeys {
  /** The user name. Left out for a social sign-in, which has no user name. */
  readonly name?: string;
  readonly address: string;
  /** The id of the browser, if the account has signed in with this browser before. */
  readonly device?: string | undefined;
}

export type SignInGuard = ReturnType<typeof createSignInGuard>;

export function createSignInGuard(createCounter: FailureCounterFactory, limits: Lockout) {
  const windowSeconds = limits.seconds;
  const accountFailures = createCounter({ name: accountCounter, limit: limits.accountFailures, windowSeconds });
  const deviceFailures = createCounter({ name: 'device', limit: limits.accountFailures, windowSeconds });
  const addressFailures = createCounter({ name: 'address', limit: limits.addressFailures, windowSeconds });
  let waitingAttempts = 0;

  /** Each failure after the third doubles the wait. Returns a lockout if too many attempts are already waiting. */
  const slowDown = async (failures: number): Promise<LockedOut | undefined> => {
    if (failures < failuresBeforeSlowDown || limits.slowDownMs === 0) return undefined;
    if (waitingAttempts >= maxWaitingAttempts) return { retryAfter: retryWhenFullSeconds };
    waitingAttempts++;
    try {
      await sleep(limits.slowDownMs * 2 ** Math.min(failures - failuresBeforeSlowDown, maxDoublings));
    } finally {
      waitingAttempts--;
    }
    return undefined;
  };

  /** Returns the counter of the browser or of the user name. Undefined for a social sign-in. */
  const counterOfUser = ({ name, device }: AttemptKeys) => {
    if (device !== undefined) return { counter: deviceFailures, key: nameKey(device) };
    return name === undefined ? undefined : { counter: accountFailures, key: nameKey(name) };
  };

  return {
    /** Deletes the failures of a user name after a password reset. Those of browsers and IP addresses remain. */
    resetFailures: (name: string): Promise<void> => accountFailures.reset(nameKey(name)),

    /**
     * Waits if three or more sign-ins of the user have failed. Returns a lockout if the attempt is rejected. Otherwise,
     * the caller must check the password, and then call `succeeded` or `failed`. Both return a lockout if parallel
     * attempts have reached the limit in the meantime. The caller must then not reveal whether the password was right.
     */
    async beginAttempt(attempt: AttemptKeys) {
      const ofUser = counterOfUser(attempt);
      const ofAddress = { counter: addressFailures, key: addressKey(attempt.address) };
      const counters = [...(ofUser ? [ofUser] : []), ...(attempt.device === undefined ? [ofAddress] : [])];
      const readCounts = () => Promise.all(counters.map(({ counter, key }) => counter.read(key)));
      const counts = await readCounts();
      const lockout = lockoutOf(counts);
      if (lockout) return lockout;
      const failuresOfUser = ofUser ? (counts[0]?.failures ?? 0) : 0;
      const rejection = await slowDown(failuresOfUser);
      if (rejection) return rejection;
      return {
        /** Only a complete sign-in deletes the count of the user's failures. */
        async succeeded({ isComplete }: { isComplete: boolean }): Promise<LockedOut | undefined> {
          const lockedMeanwhile = lockoutOf(await readCounts());
          if (lockedMeanwhile) return lockedMeanwhile;
          if (ofUser && isComplete && failuresOfUser > 0) await ofUser.counter.reset(ofUser.key);
          return undefined;
        },
        async failed(): Promise<LockedOut | undefined> {
          const added = await Promise.all(counters.map(({ counter, key }) => counter.add(key)));
          // The failure that reaches the limit still gets the response for a wrong password.
          return lockoutOf(added.filter(({ failures, limit }) => failures > limit));
        },
      };
    },
  };
}

/** Returns the longest lockout of the counts that have reached their limit. */
function lockoutOf(counts: readonly Count[]): LockedOut | undefined {
  const atLimit = counts.filter(({ failures, limit }) => failures >= limit);
  return atLimit.length > 0 ? { retryAfter: Math.max(...atLimit.map(({ resetIn }) => resetIn)) } : undefined;
}
