// How is guessing passwords kept slow? Failures, never successes, are counted per account and per address over every instance; after a
// few the next answer takes longer, and after more there is none until the lock-out ends (contract section 6).
import { setTimeout as sleep } from 'node:timers/promises';
import type { Count, CreateFailureCounter } from './failure-counter.ts';
import { addressKey, nameKey } from './keys.ts';

export interface SignInLimits {
  /** Failures of one account, and of one address, within the window; the next attempt is locked out for as long. */
  readonly accountFailures: number;
  readonly addressFailures: number;
  /** Seconds, both of the window and of the lock-out. */
  readonly lockout: number;
  /** Milliseconds that the answer after the third failure of an account waits; doubled by each further one, up to 8 times. */
  readonly slowDown: number;
}

export const defaultSignInLimits: SignInLimits = {
  accountFailures: 10,
  addressFailures: 100,
  lockout: 15 * 60,
  slowDown: 250,
};

interface Locked {
  readonly retryAfter: number;
}

export interface OpenAttempt {
  /** Answers a lock-out when failures of parallel attempts have used up the limit meanwhile: then the password stays untold. */
  readonly succeeded: () => Promise<Locked | undefined>;
  readonly failed: () => Promise<Locked | undefined>;
}

export interface SignInGuard {
  readonly open: (who: { name: string; address: string }) => Promise<OpenAttempt | Locked>;
  /** For who has proven by mail that the account is theirs: its failures no longer count, an address's still do. */
  readonly resetFailures: (name: string) => Promise<void>;
}

const failuresBeforeSlowing = 3;
/** So many answers may be held back at once; one more is refused, so that waiting costs us nothing that grows. */
const slowedAtMost = 200;

export function createSignInGuard(
  count: CreateFailureCounter,
  limits: SignInLimits = defaultSignInLimits,
): SignInGuard {
  const { lockout: window } = limits;
  const perAccount = count({ name: 'account', limit: limits.accountFailures, window });
  const perAddress = count({ name: 'address', limit: limits.addressFailures, window });
  let slowed = 0;

  const slow = async (failures: number): Promise<Locked | undefined> => {
    if (failures < failuresBeforeSlowing || limits.slowDown === 0) return undefined;
    if (slowed >= slowedAtMost) return { retryAfter: 10 };
    slowed++;
    try {
      await sleep(limits.slowDown * 2 ** Math.min(failures - failuresBeforeSlowing, 3));
    } finally {
      slowed--;
    }
    return undefined;
  };

  return {
    resetFailures: (name) => perAccount.forget(nameKey(name)),

    async open({ name, address }) {
      const account = nameKey(name);
      const from = addressKey(address);
      const look = () => Promise.all([perAccount.read(account), perAddress.read(from)]);
      const counts = await look();
      const locked = lockBy(counts);
      if (locked) return locked;
      const [{ failures }] = counts;
      const refused = await slow(failures);
      if (refused) return refused;

      return {
        async succeeded() {
          const lockedMeanwhile = lockBy(await look());
          if (lockedMeanwhile) return lockedMeanwhile;
          if (failures > 0) await perAccount.forget(account);
          return undefined;
        },
        async failed() {
          const counts = await Promise.all([perAccount.add(account), perAddress.add(from)]);
          return lockBy(counts.filter((count) => count.failures > count.limit));
        },
      };
    },
  };
}

function lockBy(counts: readonly Count[]): Locked | undefined {
  const full = counts.filter(({ failures, limit }) => failures >= limit);
  return full.length > 0 ? { retryAfter: Math.max(...full.map(({ resetIn }) => resetIn)) } : undefined;
}
