// What signs tokens, and how does it change without a refused request? Keys live in the database, their private part encrypted under
// KEY_ENCRYPTION_KEY: next is published and does not sign yet, current signs, retired is published until the last token it signed has
// expired. Contract section 6, "Signing keys".
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Database } from '@bay-booking/service/database/database';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';

export const signingAlgorithms = ['ES256', 'RS256'] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];
export type KeyState = 'next' | 'current' | 'retired';

export interface KeyRow {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly state: KeyState;
  readonly createdAt: Date;
  readonly signsFrom: Date;
  readonly retiredAt: Date | null;
  readonly deleteAfter: Date | null;
}

interface StoredKey extends KeyRow {
  readonly privateJwkEncrypted: string;
}

/** One advisory lock for everything that changes the table, so that of two instances exactly one creates or promotes. */
const lockKey = 4_206_912_022;
const columns = `kid, alg, state, created_at as "createdAt", signs_from as "signsFrom", retired_at as "retiredAt",
  delete_after as "deleteAfter", private_jwk_encrypted as "privateJwkEncrypted"`;
/** Clocks differ a little, and other instances learn of a change a few seconds later. */
const margin = 60;
/** An expired id_token still serves as id_token_hint of a sign-out, as long as a session lives. */
const hintLife = 14 * 24 * 3600;

export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey';
  constructor() {
    super('KEY_ENCRYPTION_KEY does not open the signing keys in the database: they were encrypted with another one');
  }
}

export type KeyStore = ReturnType<typeof createKeyStore>;

export function createKeyStore({ db, encryptionKey }: { db: Database; encryptionKey: Buffer }) {
  const locked = <T>(work: (tx: Database) => Promise<T>): Promise<T> =>
    db.transaction(async (tx) => {
      await tx.raw('select pg_advisory_xact_lock(?)', [lockKey]);
      return work(tx);
    });

  const read = async (on: Database): Promise<readonly StoredKey[]> => {
    // The current one first: of several that fit, the provider signs with the first.
    const { rows } = await on.raw<{ rows: StoredKey[] }>(
      `select ${columns} from signing_key
        order by alg, array_position(array['current', 'next', 'retired'], state), created_at desc`,
    );
    return rows;
  };

  const insert = async (tx: Database, alg: SigningAlgorithm, state: KeyState, delay: number): Promise<void> => {
    const { publicJwk, sealed, kid } = await makeKey(alg, encryptionKey);
    await tx.raw(
      `insert into signing_key (kid, alg, state, public_jwk, private_jwk_encrypted, signs_from)
       values (?, ?, ?, ?::jsonb, ?, now() + make_interval(secs => ?))`,
      [kid, alg, state, JSON.stringify(publicJwk), sealed, delay],
    );
  };

  return {
    /** @throws {WrongEncryptionKey} */
    async load(): Promise<readonly (KeyRow & { readonly privateJwk: JWK })[]> {
      return (await read(db)).map(({ privateJwkEncrypted, ...row }) => ({
        ...row,
        privateJwk: openJwk(privateJwkEncrypted, row.kid, encryptionKey),
      }));
    },

    async list(): Promise<readonly KeyRow[]> {
      return (await read(db)).map(({ privateJwkEncrypted: _, ...row }) => row);
    },

    /** Makes the first key of each kind, by exactly one of the instances that start together. */
    async ensure(): Promise<void> {
      const present = new Set((await read(db)).filter(({ state }) => state === 'current').map(({ alg }) => alg));
      if (signingAlgorithms.every((alg) => present.has(alg))) return;
      await locked(async (tx) => {
        const { rows } = await tx.raw<{ rows: { alg: string }[] }>(
          "select alg from signing_key where state = 'current'",
        );
        for (const alg of signingAlgorithms) {
          if (!rows.some((row) => row.alg === alg)) await insert(tx, alg, 'current', 0);
        }
      });
    },

    /** Publishes a next key of each kind, to sign in `delay` seconds; one that already waits stays, and signs no later than asked. */
    async rotate(delay: number): Promise<void> {
      await locked(async (tx) => {
        for (const alg of signingAlgorithms) {
          const { rows } = await tx.raw<{ rows: unknown[] }>(
            `update signing_key set signs_from = least(signs_from, now() + make_interval(secs => ?))
              where alg = ? and state = 'next' returning kid`,
            [delay, alg],
          );
          if (rows.length === 0) await insert(tx, alg, 'next', delay);
        }
      });
    },

    /** What time has brought: a next key that is due begins to sign, a retired one whose last token has expired goes. */
    async advance(): Promise<void> {
      const { rows } = await db.raw<{ rows: unknown[] }>(
        "select 1 from signing_key where (state = 'next' and signs_from <= now()) or delete_after <= now() limit 1",
      );
      if (rows.length === 0) return;
      await locked(async (tx) => {
        await tx.raw(
          `update signing_key old set state = 'retired', retired_at = now(),
                  delete_after = now() + make_interval(secs => ? + greatest(old.longest_ttl, case old.alg when 'RS256' then ? else 0 end))
            where old.state = 'current'
              and exists (select 1 from signing_key n where n.alg = old.alg and n.state = 'next' and n.signs_from <= now())`,
          [margin, hintLife],
        );
        await tx.raw("update signing_key set state = 'current' where state = 'next' and signs_from <= now()");
        await tx.raw("delete from signing_key where state = 'retired' and delete_after <= now()");
      });
    },

    /** Tells the table how long tokens of this instance live, so that their key outlives them. */
    async noteTtl(ttl: number): Promise<void> {
      await db.raw("update signing_key set longest_ttl = ? where state <> 'retired' and longest_ttl < ?", [ttl, ttl]);
    },

    /** Encrypts every private key under another secret. Running instances go on with what they hold, until they start with that secret. */
    async reseal(newEncryptionKey: Buffer): Promise<void> {
      await locked(async (tx) => {
        for (const { kid, privateJwkEncrypted } of await read(tx)) {
          const sealed = sealJwk(openJwk(privateJwkEncrypted, kid, encryptionKey), kid, newEncryptionKey);
          await tx.raw('update signing_key set private_jwk_encrypted = ? where kid = ?', [sealed, kid]);
        }
      });
    },

    /** Takes a key that may have leaked out of the JWKS at once; its tokens are refused from then on. */
    async remove(kid: string): Promise<boolean> {
      const { rows } = await db.raw<{ rows: unknown[] }>(
        "delete from signing_key where kid = ? and state = 'retired' returning kid",
        [kid],
      );
      return rows.length > 0;
    },
  };
}

async function makeKey(alg: SigningAlgorithm, encryptionKey: Buffer) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
  const publicJwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(publicJwk);
  const privateJwk: JWK = { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
  return { kid, publicJwk: { ...publicJwk, kid, alg, use: 'sig' }, sealed: sealJwk(privateJwk, kid, encryptionKey) };
}

/** AES-256-GCM under a fresh 96-bit nonce, bound to the key's own id: `v1.nonce.ciphertext-and-tag`. */
function sealJwk(jwk: JWK, kid: string, encryptionKey: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', encryptionKey, nonce).setAAD(Buffer.from(kid));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(jwk)), cipher.final(), cipher.getAuthTag()]);
  return `v1.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
}

function openJwk(text: string, kid: string, encryptionKey: Buffer): JWK {
  try {
    const [version, nonce = '', sealedText = ''] = text.split('.');
    if (version !== 'v1') throw new Error('unknown format');
    const sealed = Buffer.from(sealedText, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', encryptionKey, Buffer.from(nonce, 'base64url'))
      .setAAD(Buffer.from(kid))
      .setAuthTag(sealed.subarray(-16));
    return JSON.parse(Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString('utf8'));
  } catch {
    throw new WrongEncryptionKey();
  }
}
