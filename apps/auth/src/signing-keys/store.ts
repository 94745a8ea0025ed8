// Stores the signing keys in the table `signing_key`, with their private parts encrypted, and decides when they are
// created, sign tokens, and are deleted.
//
// A `next` key signs after 30 s, when the caches of resource servers have it. The first instance that
// notices makes it `current`, and retires the previous key. A retired key is deleted when all its tokens have expired.
// All states are published. Every change holds a database lock and uses the clock of the database, so it is made once.
import { type Database, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import { createSecretBox } from '@bay-booking/service/secret-box';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';

/** ES256 signs access tokens. For id_tokens, each client chooses. The default of OpenID Connect is RS256. */
export const signingAlgorithms = ['ES256', 'RS256'] as const;
type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** Every state is published, but only a current key signs. */
type KeyState = 'next' | 'current' | 'retired';

export interface SigningKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly state: KeyState;
  readonly createdAt: Date;
  readonly signsFrom: Date;
  readonly retiredAt: Date | null;
  readonly deleteAfter: Date | null;
}

interface StoredKey extends SigningKey {
  readonly privateJwkEncrypted: string;
}

export type KeyStore = ReturnType<typeof createKeyStore>;

export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey';
  constructor(cause: unknown) {
    super('KEY_ENCRYPTION_KEY does not open the signing keys in the database: they were encrypted with another key', {
      cause,
    });
  }
}

/**
 * The time from a key's publication to its first signature. Caches of resource servers keep keys for up to 15 s
 * (oidc/responses.ts).
 */
export const keyPublishDelaySeconds = 30;
/** Other instances notice a change up to 2 s later, and clocks differ. */
const marginSeconds = 60;
/** A client may send an id_token as `id_token_hint` as long as an idle session lasts. */
const minimumPublicationSeconds = 14 * 24 * 3600;

/** The number is arbitrary. */
const lockId = 4_206_912_022;

/** The first encryption key encrypts, and every key decrypts. */
export function createKeyStore({ db, encryptionKeys }: { db: Database; encryptionKeys: readonly Buffer[] }) {
  const box = createSecretBox(encryptionKeys);
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

  const insert = async (tx: Queryable, key: NewKey, state: KeyState, delay: number): Promise<void> => {
    const { kid, alg, publicJwk, privateJwk } = key;
    await query(
      tx,
      `insert into signing_key (kid, alg, state, public_jwk, private_jwk_encrypted, signs_from)
       values ($1, $2, $3, $4::jsonb, $5, now() + make_interval(secs => $6))`,
      [kid, alg, state, JSON.stringify(publicJwk), box.encrypt(JSON.stringify(privateJwk), kid), delay],
    );
  };

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

    async ensureCurrentKeys(): Promise<void> {
      const created = await generateSigningKeys(await withoutCurrentKey(db));
      if (created.length === 0) return;
      await lockedTransaction(async (tx) => {
        // Another instance may have created them before this one got the lock.
        const missing = await withoutCurrentKey(tx);
        for (const key of created) if (missing.includes(key.alg)) await insert(tx, key, 'current', 0);
      });
    },

    /** A key that already waits begins to sign after `delay` seconds at the latest. */
    async rotate(delay: number): Promise<void> {
      const created = await generateSigningKeys(signingAlgorithms);
      await lockedTransaction(async (tx) => {
        for (const key of created) {
          const waiting = await query(
            tx,
            `update signing_key set signs_from = least(signs_from, now() + make_interval(secs => $1))
              where alg = $2 and state = 'next' returning kid`,
            [delay, key.alg],
          );
          if (waiting.length === 0) await insert(tx, key, 'next', delay);
        }
      });
    },

    /** Makes the changes that are due. A retired key is kept until the longest lifetime of its tokens has passed. */
    async advance(): Promise<void> {
      const due = await query(
        db,
        `select 1 as due from signing_key
          where (state = 'next' and signs_from <= now()) or delete_after <= now() limit 1`,
      );
      if (due.length === 0) return;
      await lockedTransaction(async (tx) => {
        for (const alg of signingAlgorithms) {
          await query(
            tx,
            `update signing_key old set state = 'retired', retired_at = now(), delete_after = now()
                    + make_interval(secs => greatest(old.longest_ttl, $1, (${longestClientLifetime})) + $2)
              where old.alg = $3 and old.state = 'current'
                and exists (select 1 from signing_key n
                             where n.alg = old.alg and n.state = 'next' and n.signs_from <= now())`,
            [minimumPublicationSeconds, marginSeconds, alg],
          );
        }
        await query(tx, "update signing_key set state = 'current' where state = 'next' and signs_from <= now()");
        await query(tx, "delete from signing_key where state = 'retired' and delete_after <= now()");
      });
    },

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

/** The `kid` is the thumbprint of the key (RFC 7638). */
async function generateSigningKey(alg: SigningAlgorithm) {
  // Has no effect on an ES256 key.
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
  const publicJwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(publicJwk);
  const members = { kid, alg, use: 'sig' };
  const privateJwk: JWK = { ...(await exportJWK(privateKey)), ...members };
  return { kid, alg, publicJwk: { ...publicJwk, ...members }, privateJwk };
}

type NewKey = Awaited<ReturnType<typeof generateSigningKey>>;

/** Before a transaction begins: an RSA key takes a long time, and the transaction holds a lock. */
const generateSigningKeys = (algorithms: readonly SigningAlgorithm[]): Promise<NewKey[]> =>
  Promise.all(algorithms.map(generateSigningKey));

const longestClientLifetime = "select coalesce(max((metadata->>'access_token_ttl')::integer), 0) from client";

/** An import calls this before and after its changes, because a shorter lifetime does not apply to earlier tokens. */
export async function recordClientLifetimes(tx: Queryable): Promise<void> {
  await query(
    tx,
    `update signing_key set longest_ttl = (${longestClientLifetime})
      where state <> 'retired' and longest_ttl < (${longestClientLifetime})`,
  );
}

async function withoutCurrentKey(db: Queryable): Promise<readonly SigningAlgorithm[]> {
  const rows = await query<{ alg: string }>(db, "select alg from signing_key where state = 'current'");
  return signingAlgorithms.filter((alg) => !rows.some((row) => row.alg === alg));
}

const readKeys = (db: Queryable): Promise<readonly StoredKey[]> =>
  query<StoredKey>(
    db,
    `select kid, alg, state, created_at as "createdAt", signs_from as "signsFrom", retired_at as "retiredAt",
            delete_after as "deleteAfter", private_jwk_encrypted as "privateJwkEncrypted"
       from signing_key
      order by alg, array_position(array['current', 'next', 'retired'], state), created_at desc`,
  );
