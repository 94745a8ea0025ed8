// Defines the type of signing keys, and generates new keys.
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';

/**
 * ES256 keys sign access tokens. For id_tokens, each client chooses one of the two algorithms. The default of OpenID
 * Connect is RS256.
 */
export const signingAlgorithms = ['ES256', 'RS256'] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/**
 * A next key is published but does not sign yet. A current key signs. A retired key no longer signs, but stays
 * published, so that clients can verify the tokens that it has signed.
 */
export type KeyState = 'next' | 'current' | 'retired';

export interface SigningKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly state: KeyState;
  readonly createdAt: Date;
  /** The time at which the state of the key changes from `next` to `current`. */
  readonly signsFrom: Date;
  readonly retiredAt: Date | null;
  /** The time after which a retired key is deleted. Null if the key is not retired. */
  readonly deleteAfter: Date | null;
}

/** Generates a key pair. Its `kid` is the thumbprint of the key (RFC 7638). */
export async function generateSigningKey(alg: SigningAlgorithm) {
  // `modulusLength` is the number of bits of an RSA key. It has no effect on an ES256 key.
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
  const publicJwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(publicJwk);
  const members = { kid, alg, use: 'sig' };
  const privateJwk: JWK = { ...(await exportJWK(privateKey)), ...members };
  return { kid, publicJwk: { ...publicJwk, ...members }, privateJwk };
}
