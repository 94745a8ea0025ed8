// Slows down and locks out repeated failed sign-ins (docs/behaviour.md, "Sign-in protection").
//
// Failures are counted per account and per IP address, and all instances share the counts. After three failures of an
// account, each further attempt must wait before its password is checked. After more failures, all attempts are
// rejected until the lockout ends. Successful sign-ins are not counted, so many users can sign in from one address.
//
// A browser in which the account has signed in before has its own count. The counts of the account and the address do
// not apply there. Nobody else can therefore lock the owner of an account out of such a browser
// (interaction/device-cookie.ts).
import { setTimeout as sleep } from 'node:timers/promises';
import type { Count, CreateFailureCounter } from './failure-counter.ts';
import { addressKey, nameKey } from './keys.ts';

/** The rules of the lockout. `config.ts` reads them from the variables `LOCKOUT_*`. */
export interface SignInLimits {
  /** The number of failed sign-ins after which a user name is locked out. */
  readonly accountFailures: number;
  /** The number of failed sign-ins after which an IP address is locked out. */
  readonly addressFailures: number;
  /** The seconds in which failures are counted. A lockout ends with this window. */
  readonly lockout: number;
  /**
   * The milliseconds that an attempt waits after three failures. Each further failure doubles them, up to eight times.
   */
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
/** The attempts that may wait at the same time in this instance. More attempts are rejected, to limit the memory. */
const maxWaitingAttempts = 200;
/** The seconds after which an attempt may be repeated that was rejected because too many attempts were waiting. */
const retryWhenFull = 10;

export interface Lockout {
  /** The seconds after which the user may try again. */
  readonly retryAfter: number;
}

/** The caller checks the password and then reports the result with one of the two functions. */
export interface SignInAttempt {
  /**
   * To be called if the password was right. Returns a lockout if parallel attempts have reached the limit in the
   * meantime. The caller must then not reveal that the password was right.
   */
  readonly succeeded: () => Promise<Lockout | undefined>;
  /** To be called if the password was wrong. Returns a lockout if parallel attempts had already reached the limit. */
  readonly failed: () => Promise<Lockout | undefined>;
}

export interface AttemptKeys {
  /** The user name in lower case, as the database compares it. Left out if the attempt has no user name. */
  readonly name?: string;
  readonly address: string;
  /** The id of a browser in which the account has signed in before. */
  readonly device?: string | undefined;
}

export interface SignInGuard {
  readonly beginAttempt: (attempt: AttemptKeys) => Promise<SignInAttempt | Lockout>;
  /** Ends the lockout of a user who has proved by e-mail to own the account. The count of the IP address stays. */
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
      const ownCount =
        device !== undefined
          ? { counter: deviceFailures, key: nameKey(device) }
          : name !== undefined
            ? { counter: accountFailures, key: nameKey(name) }
            : undefined;
      const addressCount = device === undefined ? [{ counter: addressFailures, key: addressKey(address) }] : [];
      const counted = [...(ownCount ? [ownCount] : []), ...addressCount];
      const readCounts = () => Promise.all(counted.map(({ counter, key }) => counter.read(key)));
      const counts = await readCounts();
      const lockout = lockoutOf(counts);
      if (lockout) return lockout;
      const failures = ownCount ? (counts[0]?.failures ?? 0) : 0;
      const rejection = await slowDown(failures);
      if (rejection) return rejection;

      return {
        async succeeded() {
          const lockedMeanwhile = lockoutOf(await readCounts());
          if (lockedMeanwhile) return lockedMeanwhile;
          if (ownCount && failures > 0) await ownCount.counter.reset(ownCount.key);
          return undefined;
        },
        async failed() {
          const added = await Promise.all(counted.map(({ counter, key }) => counter.add(key)));
          // The failure that reaches the limit still gets the response for a wrong password. Only later ones are
          // locked.
          return lockoutOf(added.filter((count) => count.failures > count.limit));
        },
      };
    },
  };
}

/** Returns the longest lockout of the counts that have reached their limit, or undefined if none has. */
function lockoutOf(counts: readonly Count[]): Lockout | undefined {
  const atLimit = counts.filter(({ failures, limit }) => failures >= limit);
  return atLimit.length > 0 ? { retryAfter: Math.max(...atLimit.map(({ resetIn }) => resetIn)) } : undefined;
}
