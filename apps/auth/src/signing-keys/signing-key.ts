// Defines the type of signing keys, and generates new keys.
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';

/** ES256 signs access tokens. For id_tokens, each client chooses. The default of OpenID Connect is RS256. */
export const signingAlgorithms = ['ES256', 'RS256'] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** Every state is published, but only a current key signs. */
export type KeyState = 'next' | 'current' | 'retired';

export interface SigningKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly state: KeyState;
  readonly createdAt: Date;
  readonly signsFrom: Date;
  readonly retiredAt: Date | null;
  readonly deleteAfter: Date | null;
}

/** The `kid` is the thumbprint of the key (RFC 7638). */
export async function generateSigningKey(alg: SigningAlgorithm) {
  // Has no effect on an ES256 key.
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
  const publicJwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(publicJwk);
  const members = { kid, alg, use: 'sig' };
  const privateJwk: JWK = { ...(await exportJWK(privateKey)), ...members };
  return { kid, publicJwk: { ...publicJwk, ...members }, privateJwk };
}
