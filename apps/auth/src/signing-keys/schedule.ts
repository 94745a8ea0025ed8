// Decides when signing keys are created, sign tokens and are deleted. Keys rotate without a restart and without a
// failed request.
//
// The table has keys in three states, at most one `current` and one `next` key for each algorithm:
//
// - `current`: signs every new token. It is published in the JWKS, as all keys are.
// - `next`: signs nothing yet.
// - `retired`: signs nothing any more.
//
// The life of a key:
//
// 1. The first instance that starts creates a current key for each algorithm.
// 2. `npm run keys -- rotate` creates a next key, which signs after KEY_PUBLISH_DELAY seconds. Caches may keep the
//    JWKS for 15 s, so after the delay every resource server has read the new key before it gets a token that was
//    signed with it.
// 3. Every instance checks the table every 2 s (oidc/provider-manager.ts). The first instance that finds a next key
//    whose time has come makes it current and retires the current key, in one transaction.
// 4. A retired key is deleted when every token that it signed has expired. Before an instance signs with a key, it
//    records the lifetime of its tokens with the key. The longest recorded lifetime counts, plus a margin: other
//    instances notice the change up to 2 s later, and clocks differ.
//
// Every change takes the same database lock, and all times are those of the database. Instances that act at the same
// time therefore make each change only once.
import { type SigningAlgorithm, signingAlgorithms } from './signing-key.ts';
import type { KeyStore } from './store.ts';

/** Seconds. */
const margin = 60;
/**
 * Seconds that a retired key stays published at least. RS256 keys sign id_tokens. A client may send an expired
 * id_token as id_token_hint when its user signs out, for as long as an unused session lasts.
 */
const minimumPublication: Readonly<Record<SigningAlgorithm, number>> = { ES256: 0, RS256: 14 * 24 * 3600 };

export type KeySchedule = ReturnType<typeof createKeySchedule>;

export function createKeySchedule(store: KeyStore) {
  return {
    /** Creates the keys that are missing at the first start. */
    async ensureCurrentKeys(): Promise<void> {
      const keys = await store.list();
      if (signingAlgorithms.every((alg) => keys.some((key) => key.alg === alg && key.state === 'current'))) return;
      await store.change(async (changes) => {
        const present = await changes.algorithmsWithCurrentKey();
        for (const alg of signingAlgorithms) {
          if (!present.includes(alg)) await changes.insert(alg, 'current', 0);
        }
      });
    },

    /**
     * Creates a next key for each algorithm, which signs in `delay` seconds. A next key that exists signs no later
     * than that.
     */
    async rotate(delay: number): Promise<void> {
      await store.change(async (changes) => {
        for (const alg of signingAlgorithms) {
          if (!(await changes.bringForward(alg, delay))) await changes.insert(alg, 'next', delay);
        }
      });
    },

    /** Makes the changes whose time has come. */
    async advance(): Promise<void> {
      if (!(await store.hasDueChange())) return;
      await store.change(async (changes) => {
        for (const alg of signingAlgorithms) {
          await changes.retireReplaced(alg, { minimum: minimumPublication[alg], margin });
        }
        await changes.activateDue();
        await changes.deleteExpired();
      });
    },
  };
}
