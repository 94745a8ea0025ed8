// Decides whether a DPoP proof is recent, by its time and its nonce (RFC 9449 section 8), and for how long a used proof
// must be remembered.
//
// oidc-provider has no public functions for nonces, so this file uses two internal modules of the library. Read these
// modules again at every upgrade of the library. test/dpop.test.ts tests the result.
import { hkdfSync } from 'node:crypto';
import { decodeJwt, type JWTPayload } from 'jose';
import { errors, type JWK, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import ServerChallenge from 'oidc-provider/lib/helpers/challenge.js';
import internalsOf from 'oidc-provider/lib/helpers/weak_cache.js';
import type { Next } from '../middleware-types.ts';
import type { RecordFirstUse } from './replay-detection.ts';

/** The maximum age of a proof without a nonce, in seconds. oidc-provider uses the same limit. */
export const maxAge = 300;
/**
 * The maximum age of a proof with a nonce, in seconds. The nonce already shows that the proof is new, so a large
 * difference between the clocks of the client and the server is accepted.
 */
export const maxAgeWithNonce = 24 * 3600;

/**
 * Returns the secrets from which nonces are made. The first secret makes new nonces. Each secret is derived from a
 * signing key. All instances share the signing keys, so each instance accepts the nonces of every other instance.
 */
export const nonceSecretsOf = (keys: readonly JWK[]): readonly Buffer[] =>
  keys
    // The RS256 keys are not needed, because each rotation also creates an ES256 key.
    .filter(({ alg }) => alg === 'ES256')
    // Each key has the private member `d`, from which a secret of 32 bytes is derived.
    .map(({ d = '' }) => Buffer.from(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', 'DPoP nonces', 32)));

/**
 * Creates and checks nonces. Nonces of all published keys are accepted, because during a rotation some instances
 * already use the new key while others still use the old key.
 */
export function createNonces(keys: readonly JWK[]) {
  const challenges = nonceSecretsOf(keys).map((secret) => new ServerChallenge(secret, 'DPoP'));
  return {
    next: (): string => challenges[0]?.nextChallenge() ?? '',
    check: (nonce: string): boolean => challenges.some((challenge) => challenge.checkChallenge(nonce)),
  };
}

/** Returns the seconds between `iat` and now, as a positive number even if `iat` is in the future. */
export const ageOf = ({ iat }: { readonly iat?: number | undefined }): number =>
  Math.abs(Date.now() / 1000 - (iat ?? 0));

/**
 * Changes two rules of oidc-provider for proofs with a nonce:
 * - The library accepts every `iat` in such proofs. This function makes it reject an `iat` that differs from the
 *   current time by more than a day.
 * - The library rejects an expired nonce even if the proof is recent and needs no nonce. Every client that has been
 *   idle for some minutes would need a second request. This function makes it accept any nonce in a recent proof.
 */
export function adjustProofsWithNonce(provider: Provider, keys: readonly JWK[]): void {
  const nonces = createNonces(keys);
  internalsOf(provider).DPoPNonces.checkChallenge = (nonce) => {
    // oidc-provider calls this method only after it has verified the proof.
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
 * Returns the time, in seconds since 1970, until which a proof that is used now could be accepted a second time.
 *
 * The `iat` of a proof with a nonce may be up to a day in the future. A proof is recent from `maxAge` seconds before
 * until `maxAge` seconds after its `iat`, and a recent proof needs no valid nonce. A used proof must therefore be
 * remembered until `maxAge` seconds after its `iat`. If its `iat` is in the past, `maxAge` seconds from now are enough,
 * because its nonce expires earlier.
 */
export function acceptableUntil({ iat }: { readonly iat?: unknown }): number {
  const now = Date.now() / 1000;
  const latest = Math.max(now, typeof iat === 'number' ? iat : 0);
  return Math.min(latest, now + maxAgeWithNonce) + maxAge;
}

/**
 * Returns the function with which oidc-provider checks whether a proof is used for the first time. The function
 * remembers a proof until `expiresAt`, or until the time that `acceptableUntil` returns if this time is later.
 */
export const rememberWhileAcceptable =
  (recordFirstUse: RecordFirstUse): RecordFirstUse =>
  (issuer, jti, expiresAt) =>
    recordFirstUse(issuer, jti, Math.max(expiresAt, acceptableUntil(currentProof() ?? {})));

/** Returns the payload of the DPoP proof of the current request. The proof may still be unverified. */
const currentProof = () => payloadOf((Provider.ctx as KoaContextWithOIDC | undefined)?.get('DPoP') ?? '');

/** Reads the payload of a proof without verifying it. Returns undefined for text that is not a JWT. */
function payloadOf(proof: string): JWTPayload | undefined {
  try {
    return proof === '' ? undefined : decodeJwt(proof);
  } catch {
    return undefined;
  }
}
