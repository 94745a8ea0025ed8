// Stores the signing keys in the table `signing_key`, with their private parts encrypted.
import { type Database, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import { createSecretBox, type SecretBox } from '@bay-booking/service/secret-box';
import type { JWK } from 'jose';
import { generateSigningKey, type KeyState, type SigningAlgorithm, type SigningKey } from './signing-key.ts';

interface StoredKey extends SigningKey {
  readonly privateJwkEncrypted: string;
}

export type KeyStore = ReturnType<typeof createKeyStore>;
export type KeyTransaction = ReturnType<typeof changesIn>;

export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey';
  constructor(cause: unknown) {
    super('KEY_ENCRYPTION_KEY does not open the signing keys in the database: they were encrypted with another key', {
      cause,
    });
  }
}

/** An arbitrary number */
const lockId = 4_206_912_022;

export function createKeyStore({ db, encryptionKey }: { db: Database; encryptionKey: Buffer }) {
  const box = createSecretBox([encryptionKey]);
  const decrypt = ({ kid, privateJwkEncrypted }: StoredKey): string => {
    try {
      return box.decrypt(privateJwkEncrypted, kid);
    } catch (error) {
      throw new WrongEncryptionKey(error);
    }
  };

  const lockedTransaction = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> =>
    transaction(db, async (tx) => {
      await query(tx, 'select pg_advisory_xact_lock($1)', [lockId]);
      return work(tx);
    });

  return {
    /** For each algorithm, the current key comes first, because oidc-provider signs with the first one. */
    async load(): Promise<readonly (SigningKey & { readonly privateJwk: JWK })[]> {
      return (await readKeys(db)).map((stored) => {
        const { privateJwkEncrypted: _, ...key } = stored;
        return { ...key, privateJwk: JSON.parse(decrypt(stored)) as JWK };
      });
    },

    async list(): Promise<readonly SigningKey[]> {
      return (await readKeys(db)).map(({ privateJwkEncrypted: _, ...key }) => key);
    },

    async hasDueChange(): Promise<boolean> {
      const rows = await query(
        db,
        `select 1 as due from signing_key
          where (state = 'next' and signs_from <= now()) or delete_after <= now() limit 1`,
      );
      return rows.length > 0;
    },

    change: <T>(work: (changes: KeyTransaction) => Promise<T>): Promise<T> =>
      lockedTransaction((tx) => work(changesIn(tx, box))),

    /** A retired key is kept until tokens with this lifetime have expired. */
    async recordTokenLifetime(seconds: number): Promise<void> {
      await query(db, "update signing_key set longest_ttl = $1 where state <> 'retired' and longest_ttl < $1", [
        seconds,
      ]);
    },

    /** Running instances keep the keys that they have loaded. */
    async reencrypt(newEncryptionKey: Buffer): Promise<void> {
      await lockedTransaction(async (tx) => {
        const newBox = createSecretBox([newEncryptionKey]);
        for (const key of await readKeys(tx)) {
          const encrypted = newBox.encrypt(decrypt(key), key.kid);
          await query(tx, 'update signing_key set private_jwk_encrypted = $1 where kid = $2', [encrypted, key.kid]);
        }
      });
    },

    /** For a key that leaked. Needs no lock, because a retired key never changes its state again. */
    async deleteRetired(kid: string): Promise<boolean> {
      const rows = await query(db, "delete from signing_key where kid = $1 and state = 'retired' returning kid", [kid]);
      return rows.length > 0;
    },
  };
}

const longestClientLifetime = "select coalesce(max((metadata->>'access_token_ttl')::integer), 0) from client";

/** An import calls this before and after its changes, because a shorter lifetime does not apply to earlier tokens. */
export async function recordClientLifetimes(tx: Queryable): Promise<void> {
  await query(
    tx,
    `update signing_key set longest_ttl = (${longestClientLifetime})
      where state <> 'retired' and longest_ttl < (${longestClientLifetime})`,
  );
}

function changesIn(tx: Queryable, box: SecretBox) {
  return {
    async algorithmsWithCurrentKey(): Promise<readonly string[]> {
      const rows = await query<{ alg: string }>(tx, "select alg from signing_key where state = 'current'");
      return rows.map(({ alg }) => alg);
    },

    async insert(alg: SigningAlgorithm, state: KeyState, signsInSeconds: number): Promise<void> {
      const { kid, publicJwk, privateJwk } = await generateSigningKey(alg);
      await query(
        tx,
        `insert into signing_key (kid, alg, state, public_jwk, private_jwk_encrypted, signs_from)
         values ($1, $2, $3, $4::jsonb, $5, now() + make_interval(secs => $6))`,
        [kid, alg, state, JSON.stringify(publicJwk), box.encrypt(JSON.stringify(privateJwk), kid), signsInSeconds],
      );
    },

    async bringForward(alg: SigningAlgorithm, signsInSeconds: number): Promise<boolean> {
      const rows = await query(
        tx,
        `update signing_key set signs_from = least(signs_from, now() + make_interval(secs => $1))
          where alg = $2 and state = 'next' returning kid`,
        [signsInSeconds, alg],
      );
      return rows.length > 0;
    },

    /** Keeps the retired key until the longest lifetime of its tokens has passed. */
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
