// Decides whether a DPoP proof is recent, by its time and its nonce (RFC 9449 section 8). Also decides for how long a
// used proof must be remembered.
//
// The library has no public functions for nonces, so this file uses two internal modules of the library. Read these
// modules again at every upgrade of the library. test/dpop.test.ts covers both.
import { hkdfSync } from 'node:crypto';
import { decodeJwt, type JWTPayload } from 'jose';
import { errors, type JWK, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import ServerChallenge from 'oidc-provider/lib/helpers/challenge.js';
import internalsOf from 'oidc-provider/lib/helpers/weak_cache.js';
import type { Next } from './middleware-types.ts';
import type { IsFirstUse } from './replay-detection.ts';

/** The maximum age of a proof without a nonce, in seconds. The library has the same limit. */
export const maxAge = 300;
/**
 * The maximum age of a proof with a nonce, in seconds. The nonce already shows that the proof is new, so a large
 * difference between the clocks of the client and the server is accepted.
 */
export const maxAgeWithNonce = 24 * 3600;

/**
 * The secrets from which nonces are made, the current one first. Each is derived from a signing key, and all instances
 * share these keys. Each instance therefore accepts the nonces of the others.
 */
export const nonceSecretsOf = (keys: readonly JWK[]): readonly Buffer[] =>
  keys
    .filter(({ alg }) => alg === 'ES256')
    .map(({ d = '' }) => Buffer.from(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', 'DPoP nonces', 32)));

/**
 * Issues and checks nonces. The nonces of all published keys are accepted, because during a rotation some instances
 * already use the new key while others still use the old key.
 */
export function createNonces(keys: readonly JWK[]) {
  const challenges = nonceSecretsOf(keys).map((secret) => new ServerChallenge(secret, 'DPoP'));
  return {
    next: (): string => challenges[0]?.nextChallenge() ?? '',
    check: (nonce: string): boolean => challenges.some((challenge) => challenge.checkChallenge(nonce)),
  };
}

/** The difference between `iat` and the current time in seconds, for proofs from the past and from the future. */
export const ageOf = ({ iat }: { readonly iat?: number | undefined }): number =>
  Math.abs(Date.now() / 1000 - (iat ?? 0));

/**
 * Changes two rules of the library for proofs with a nonce:
 * - The library does not limit the age of such proofs. Here a proof that is older than a day is rejected.
 * - The library rejects an expired nonce even if the proof is recent and needs no nonce. Every client that has been
 *   idle for some minutes would need a second request. Here the expired nonce in a recent proof is accepted.
 */
export function adjustProofsWithNonce(provider: Provider, keys: readonly JWK[]): void {
  const nonces = createNonces(keys);
  internalsOf(provider).DPoPNonces.checkChallenge = (nonce) => {
    // The library calls this method only after it has verified the proof.
    const proof = currentProof();
    return (proof !== undefined && ageOf(proof) <= maxAge) || nonces.check(nonce);
  };
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    const proof = payloadOf(ctx.get('DPoP'));
    if (proof?.nonce !== undefined && ageOf(proof) > maxAgeWithNonce) {
      throw new errors.InvalidDpopProof('DPoP proof iat is not within a day');
    }
    return next();
  });
}

/**
 * The last time at which a proof can be used, in seconds since 1970. The `iat` of a proof with a nonce may be a day in
 * the future. At that later time the proof is recent, so it would be accepted without a valid nonce. A proof must
 * therefore be remembered until `maxAge` after its `iat`.
 */
export function lastUseOf({ iat }: { readonly iat?: unknown }): number {
  const now = Date.now() / 1000;
  return Math.min(Math.max(now, typeof iat === 'number' ? iat : 0), now + maxAgeWithNonce) + maxAge;
}

/** Makes the library's replay check remember each proof until its last use (`lastUseOf`). */
export const rememberUntilLastUse =
  (isFirstUse: IsFirstUse): IsFirstUse =>
  (issuer, jti, expiresAt) =>
    isFirstUse(issuer, jti, Math.max(expiresAt, lastUseOf(currentProof() ?? {})));

/** The payload of the current request's DPoP proof, which may not have been verified. */
const currentProof = () => payloadOf((Provider.ctx as KoaContextWithOIDC | undefined)?.get('DPoP') ?? '');

/** Reads the payload of a proof without verifying it. Returns undefined for text that is not a JWT. */
function payloadOf(proof: string): JWTPayload | undefined {
  try {
    return proof === '' ? undefined : decodeJwt(proof);
  } catch {
    return undefined;
  }
}
