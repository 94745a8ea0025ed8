// Slows down and locks out repeated failed sign-ins (docs/behaviour.md, "Sign-in protection").
//
// Failures are counted per account and per address, over all instances. After three failures of an account, each
// further attempt waits before its password is checked. After more failures, attempts are refused until the lockout
// ends. Successes are never counted, so many users can sign in from one address.
//
// A browser in which the account has signed in before has a count of its own instead of these two, so nobody can lock
// the owner of an account out of such a browser (interaction/device-cookie.ts).
import { setTimeout as sleep } from 'node:timers/promises';
import type { Count, CreateFailureCounter } from './failure-counter.ts';
import { addressKey, nameKey } from './keys.ts';

/** The rules of the lockout. `config.ts` reads them from the variables `LOCKOUT_*`. */
export interface SignInLimits {
  /** Failed sign-ins with one user name until it is locked out. */
  readonly accountFailures: number;
  /** Failed sign-ins from one address until it is locked out. */
  readonly addressFailures: number;
  /** Seconds. Both the window in which failures are counted and the length of the lockout. */
  readonly lockout: number;
  /** Milliseconds that an attempt waits after three failures. Each further failure doubles it, up to eightfold. */
  readonly slowDown: number;
}

export const defaultSignInLimits: SignInLimits = {
  accountFailures: 10,
  addressFailures: 100,
  lockout: 15 * 60,
  slowDown: 250,
};

const failuresBeforeSlowDown = 3;
const maxDoublings = 3;
/** Attempts of this instance that may wait at the same time. Further attempts are refused, to bound the memory. */
const maxWaitingAttempts = 200;
/** Seconds after which an attempt that was refused for that reason may be repeated. */
const retryWhenFull = 10;

export interface Lockout {
  /** Seconds. */
  readonly retryAfter: number;
}

/** The caller checks the password and then reports the result with one of the two functions. */
export interface SignInAttempt {
  /**
   * Returns a lockout if parallel attempts have reached the limit meanwhile. The caller must then not reveal that the
   * password was right.
   */
  readonly succeeded: () => Promise<Lockout | undefined>;
  /** Counts the failure. Returns a lockout if parallel attempts had reached the limit already. */
  readonly failed: () => Promise<Lockout | undefined>;
}

export interface AttemptKeys {
  /** The user name as the database compares it. Left out if the attempt names no account. */
  readonly name?: string;
  readonly address: string;
  /** The id of a browser in which the account has signed in before. */
  readonly device?: string | undefined;
}

export interface SignInGuard {
  readonly beginAttempt: (attempt: AttemptKeys) => Promise<SignInAttempt | Lockout>;
  /** Ends the lockout of a user who has proved by e-mail that the account is theirs. The address's count stays. */
  readonly resetFailures: (name: string) => Promise<void>;
}

export function createSignInGuard(createCounter: CreateFailureCounter, limits: SignInLimits): SignInGuard {
  const window = limits.lockout;
  const accountFailures = createCounter({ name: 'account', limit: limits.accountFailures, window });
  const deviceFailures = createCounter({ name: 'device', limit: limits.accountFailures, window });
  const addressFailures = createCounter({ name: 'address', limit: limits.addressFailures, window });
  let waitingAttempts = 0;

  const slowDown = async (failures: number): Promise<Lockout | undefined> => {
    if (failures < failuresBeforeSlowDown || limits.slowDown === 0) return undefined;
    if (waitingAttempts >= maxWaitingAttempts) return { retryAfter: retryWhenFull };
    waitingAttempts++;
    try {
      await sleep(limits.slowDown * 2 ** Math.min(failures - failuresBeforeSlowDown, maxDoublings));
    } finally {
      waitingAttempts--;
    }
    return undefined;
  };

  return {
    resetFailures: (name) => accountFailures.reset(nameKey(name)),

    async beginAttempt({ name, address, device }) {
      const own =
        device !== undefined
          ? { counter: deviceFailures, key: nameKey(device) }
          : name !== undefined
            ? { counter: accountFailures, key: nameKey(name) }
            : undefined;
      const shared = device === undefined ? [{ counter: addressFailures, key: addressKey(address) }] : [];
      const counted = [...(own ? [own] : []), ...shared];
      const readCounts = () => Promise.all(counted.map(({ counter, key }) => counter.read(key)));
      const counts = await readCounts();
      const lockout = lockoutOf(counts);
      if (lockout) return lockout;
      const failures = own ? (counts[0]?.failures ?? 0) : 0;
      const refused = await slowDown(failures);
      if (refused) return refused;

      return {
        async succeeded() {
          const lockedMeanwhile = lockoutOf(await readCounts());
          if (lockedMeanwhile) return lockedMeanwhile;
          if (own && failures > 0) await own.counter.reset(own.key);
          return undefined;
        },
        async failed() {
          const added = await Promise.all(counted.map(({ counter, key }) => counter.add(key)));
          // The failure that reaches the limit still gets the response to a wrong password.
          return lockoutOf(added.filter((count) => count.failures > count.limit));
        },
      };
    },
  };
}

/** The longest lockout of those counts that have reached their limit. */
function lockoutOf(counts: readonly Count[]): Lockout | undefined {
  const full = counts.filter(({ failures, limit }) => failures >= limit);
  return full.length > 0 ? { retryAfter: Math.max(...full.map(({ resetIn }) => resetIn)) } : undefined;
}
