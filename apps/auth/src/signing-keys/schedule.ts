// Decides when signing keys are created, sign tokens, and are deleted. A `next` key signs after KEY_PUBLISH_DELAY, when
// the caches of resource servers have it. The first instance that notices makes it `current`, and retires the previous
// key. A retired key is deleted when all its tokens have expired. All states are published. Every change holds a
// database lock and uses the clock of the database, so it is made once.
import { type SigningAlgorithm, signingAlgorithms } from './signing-key.ts';
import type { KeyStore } from './store.ts';

/** Other instances notice a change up to 2 s later, and clocks differ. */
const marginSeconds = 60;
/** RS256 keys sign id_tokens, which a client may send as `id_token_hint` as long as an idle session lasts. */
const minimumPublicationSeconds: Readonly<Record<SigningAlgorithm, number>> = { ES256: 0, RS256: 14 * 24 * 3600 };

export type KeySchedule = ReturnType<typeof createKeySchedule>;

export function createKeySchedule(store: KeyStore) {
  return {
    async ensureCurrentKeys(): Promise<void> {
      const keys = await store.list();
      if (signingAlgorithms.every((alg) => keys.some((key) => key.alg === alg && key.state === 'current'))) return;
      await store.change(async (changes) => {
        // Another instance may have created them before this one got the lock.
        const present = await changes.algorithmsWithCurrentKey();
        for (const alg of signingAlgorithms) {
          if (!present.includes(alg)) await changes.insert(alg, 'current', 0);
        }
      });
    },

    /** A key that already waits begins to sign after `delay` seconds at the latest. */
    async rotate(delay: number): Promise<void> {
      await store.change(async (changes) => {
        for (const alg of signingAlgorithms) {
          if (!(await changes.bringForward(alg, delay))) await changes.insert(alg, 'next', delay);
        }
      });
    },

    async advance(): Promise<void> {
      if (!(await store.hasDueChange())) return;
      await store.change(async (changes) => {
        for (const alg of signingAlgorithms) {
          await changes.retireReplaced(alg, {
            minimumSeconds: minimumPublicationSeconds[alg],
            marginSeconds,
          });
        }
        await changes.activateDue();
        await changes.deleteExpired();
      });
    },
  };
}
