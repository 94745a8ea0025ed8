// Decides when signing keys are created, when they sign tokens, and when they are deleted. Keys rotate without a
// restart and without failed requests.
//
// A key has one of three states. All keys are published in the JWKS.
//
// - `current`: the key signs new tokens. There is one such key for each algorithm.
// - `next`: the key does not sign yet. There is at most one such key for each algorithm.
// - `retired`: the key does not sign any more.
//
// The life of a key:
//
// 1. The first instance that starts creates a current key for each algorithm.
// 2. `npm run keys -- rotate` creates a next key, which signs after KEY_PUBLISH_DELAY seconds. Caches may store the
//    JWKS for 15 s. With the default delay of 30 s, every resource server can read the new public key before it gets a
//    token that was signed with the key.
// 3. Every instance checks the table every 2 s (oidc/provider-manager.ts). The first instance that finds a next key
//    whose delay has passed makes it current and retires the current key, in one transaction.
// 4. A retired key is deleted when all tokens that it signed have expired. Before an instance signs with a key, it
//    stores the lifetime of its tokens in the row of the key. A retired key is kept for the longest of these lifetimes
//    plus a margin. The margin is needed because other instances notice a change up to 2 s later, and because clocks
//    differ.
//
// Every change holds the same database lock, and all times are times of the database clock. If several instances try to
// make a change at the same time, the change is therefore made only once.
import { type SigningAlgorithm, signingAlgorithms } from './signing-key.ts';
import type { KeyStore } from './store.ts';

/** The seconds for which a retired key stays published after its last token has expired. */
const marginSeconds = 60;
/**
 * The minimum number of seconds for which a retired key stays published. RS256 keys sign id_tokens. When a user signs
 * out, a client may send an expired id_token as `id_token_hint`. It may do so as long as an idle session can last,
 * which is 14 days.
 */
const minimumPublicationSeconds: Readonly<Record<SigningAlgorithm, number>> = { ES256: 0, RS256: 14 * 24 * 3600 };

export type KeySchedule = ReturnType<typeof createKeySchedule>;

export function createKeySchedule(store: KeyStore) {
  return {
    /** Creates a current key for each algorithm that has none. This happens at the first start only. */
    async ensureCurrentKeys(): Promise<void> {
      const keys = await store.list();
      if (signingAlgorithms.every((alg) => keys.some((key) => key.alg === alg && key.state === 'current'))) return;
      await store.change(async (changes) => {
        // Another instance may have created the keys before this instance got the lock.
        const present = await changes.algorithmsWithCurrentKey();
        for (const alg of signingAlgorithms) {
          if (!present.includes(alg)) await changes.insert(alg, 'current', 0);
        }
      });
    },

    /**
     * For each algorithm, creates a key with the state `next`. The key begins to sign after `delay` seconds. If the
     * algorithm already has such a key, no key is created, and the existing key begins to sign after `delay` seconds at
     * the latest.
     */
    async rotate(delay: number): Promise<void> {
      await store.change(async (changes) => {
        for (const alg of signingAlgorithms) {
          if (!(await changes.bringForward(alg, delay))) await changes.insert(alg, 'next', delay);
        }
      });
    },

    /** Makes all changes that are due: retires and activates keys, and deletes retired keys. */
    async advance(): Promise<void> {
      if (!(await store.hasDueChange())) return;
      await store.change(async (changes) => {
        // Retires a current key if the next key of the algorithm is due. `activateDue` then makes the next key current.
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
