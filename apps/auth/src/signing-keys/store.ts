// Stores the signing keys in the table `signing_key`. The private part of a key is encrypted. schedule.ts decides when
// a key changes its state.
import { type Database, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import type { JWK } from 'jose';
import { decryptJwk, encryptJwk } from './encryption.ts';
import { generateSigningKey, type KeyState, type SigningAlgorithm, type SigningKey } from './signing-key.ts';

interface StoredKey extends SigningKey {
  readonly privateJwkEncrypted: string;
}

export type KeyStore = ReturnType<typeof createKeyStore>;
export type KeyTransaction = ReturnType<typeof changesIn>;

/** The number of the advisory lock that allows only one instance at a time to change keys. The number is arbitrary. */
const lockId = 4_206_912_022;

export function createKeyStore({ db, encryptionKey }: { db: Database; encryptionKey: Buffer }) {
  const lockedTransaction = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> =>
    transaction(db, async (tx) => {
      await query(tx, 'select pg_advisory_xact_lock($1)', [lockId]);
      return work(tx);
    });

  return {
    /**
     * Returns all keys with their private JWKs. For each algorithm, the current key comes first, because oidc-provider
     * signs with the first key of the algorithm.
     * @throws {WrongEncryptionKey} if KEY_ENCRYPTION_KEY cannot decrypt the keys
     */
    async load(): Promise<readonly (SigningKey & { readonly privateJwk: JWK })[]> {
      return (await readKeys(db)).map(({ privateJwkEncrypted, ...key }) => ({
        ...key,
        privateJwk: decryptJwk(privateJwkEncrypted, key.kid, encryptionKey),
      }));
    },

    async list(): Promise<readonly SigningKey[]> {
      return (await readKeys(db)).map(({ privateJwkEncrypted: _, ...key }) => key);
    },

    /** Whether the state of a key must change from `next` to `current` now, or a retired key must be deleted now. */
    async hasDueChange(): Promise<boolean> {
      const rows = await query(
        db,
        `select 1 as due from signing_key
          where (state = 'next' and signs_from <= now()) or delete_after <= now() limit 1`,
      );
      return rows.length > 0;
    },

    /** Runs `work` in a transaction. No other change of keys runs at the same time. */
    change: <T>(work: (changes: KeyTransaction) => Promise<T>): Promise<T> =>
      lockedTransaction((tx) => work(changesIn(tx, encryptionKey))),

    /** Stores the lifetime of tokens in each key that is not retired, unless the key already has a longer lifetime. */
    async recordTokenLifetime(seconds: number): Promise<void> {
      await query(db, "update signing_key set longest_ttl = $1 where state <> 'retired' and longest_ttl < $1", [
        seconds,
      ]);
    },

    /** Encrypts all private keys with another key. Running instances keep the keys that they have already loaded. */
    async reencrypt(newEncryptionKey: Buffer): Promise<void> {
      await lockedTransaction(async (tx) => {
        for (const { kid, privateJwkEncrypted } of await readKeys(tx)) {
          const encrypted = encryptJwk(decryptJwk(privateJwkEncrypted, kid, encryptionKey), kid, newEncryptionKey);
          await query(tx, 'update signing_key set private_jwk_encrypted = $1 where kid = $2', [encrypted, kid]);
        }
      });
    },

    /**
     * Deletes a retired key before its tokens have expired, for example because the key leaked. Returns false if there
     * is no such retired key. Unlike the method `change`, this method needs no lock, because a retired key never
     * changes its state again.
     */
    async deleteRetired(kid: string): Promise<boolean> {
      const rows = await query(db, "delete from signing_key where kid = $1 and state = 'retired' returning kid", [kid]);
      return rows.length > 0;
    },
  };
}

/** Selects the longest `access_token_ttl` of all clients in seconds, or 0 if no client has one. */
const longestClientLifetime = "select coalesce(max((metadata->>'access_token_ttl')::integer), 0) from client";

/**
 * Finds the longest `access_token_ttl` of all clients, and stores it in each signing key that is not retired. A key
 * whose stored value is already higher is not changed. An import calls this function before and after it changes
 * clients. The first call is needed because a client may get a shorter lifetime while its earlier tokens are valid.
 */
export async function recordClientLifetimes(tx: Queryable): Promise<void> {
  await query(
    tx,
    `update signing_key set longest_ttl = (${longestClientLifetime})
      where state <> 'retired' and longest_ttl < (${longestClientLifetime})`,
  );
}

/** Returns the functions with which a transaction can change the keys. */
function changesIn(tx: Queryable, encryptionKey: Buffer) {
  return {
    async algorithmsWithCurrentKey(): Promise<readonly string[]> {
      const rows = await query<{ alg: string }>(tx, "select alg from signing_key where state = 'current'");
      return rows.map(({ alg }) => alg);
    },

    /** Creates a key that begins to sign after `signsInSeconds`. */
    async insert(alg: SigningAlgorithm, state: KeyState, signsInSeconds: number): Promise<void> {
      const { kid, publicJwk, privateJwk } = await generateSigningKey(alg);
      await query(
        tx,
        `insert into signing_key (kid, alg, state, public_jwk, private_jwk_encrypted, signs_from)
         values ($1, $2, $3, $4::jsonb, $5, now() + make_interval(secs => $6))`,
        [kid, alg, state, JSON.stringify(publicJwk), encryptJwk(privateJwk, kid, encryptionKey), signsInSeconds],
      );
    },

    /**
     * Makes the key with the state `next` begin to sign after `signsInSeconds`, unless it already begins earlier.
     * Returns false if the algorithm has no such key.
     */
    async bringForward(alg: SigningAlgorithm, signsInSeconds: number): Promise<boolean> {
      const rows = await query(
        tx,
        `update signing_key set signs_from = least(signs_from, now() + make_interval(secs => $1))
          where alg = $2 and state = 'next' returning kid`,
        [signsInSeconds, alg],
      );
      return rows.length > 0;
    },

    /**
     * Retires the current key of an algorithm if a key with the state `next` should sign by now. The retired key is
     * kept for `marginSeconds` more than the longest of these lifetimes: the stored lifetime of its tokens
     * (`longest_ttl`), the longest `access_token_ttl` of all clients, and `minimumSeconds`.
     */
    async retireReplaced(
      alg: SigningAlgorithm,
      { minimumSeconds, marginSeconds }: { minimumSeconds: number; marginSeconds: number },
    ): Promise<void> {
      await query(
        tx,
        `update signing_key old set state = 'retired', retired_at = now(), delete_after = now()
                + make_interval(secs => greatest(old.longest_ttl, $1, (${longestClientLifetime})) + $2)
          where old.alg = $3 and old.state = 'current'
            and exists (select 1 from signing_key n
                         where n.alg = old.alg and n.state = 'next' and n.signs_from <= now())`,
        [minimumSeconds, marginSeconds, alg],
      );
    },

    /**
     * Changes the state `next` to `current` for every key whose `signs_from` has passed. The previous current key must
     * already be retired.
     */
    async activateDue(): Promise<void> {
      await query(tx, "update signing_key set state = 'current' where state = 'next' and signs_from <= now()");
    },

    async deleteExpired(): Promise<void> {
      await query(tx, "delete from signing_key where state = 'retired' and delete_after <= now()");
    },
  };
}

const readKeys = (db: Queryable): Promise<readonly StoredKey[]> =>
  query<StoredKey>(
    db,
    `select kid, alg, state, created_at as "createdAt", signs_from as "signsFrom", retired_at as "retiredAt",
            delete_after as "deleteAfter", private_jwk_encrypted as "privateJwkEncrypted"
       from signing_key
      order by alg, array_position(array['current', 'next', 'retired'], state), created_at desc`,
  );
