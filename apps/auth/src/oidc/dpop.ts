// Implements DPoP (RFC 9449) where oidc-provider does not. It binds the tokens of our own grants to the key of a proof,
// and verifies the proofs at our own userinfo endpoint.
//
// The library has no public functions for DPoP, so this file uses three internal modules of the library. Read these
// modules again at every upgrade of the library. test/dpop.test.ts covers all three.
import { hkdfSync } from 'node:crypto';
import { type DpopProof, InvalidDpopProof, verifyDpopProof } from '@bay-booking/service/http/dpop-proof';
import { decodeJwt, type JWTPayload } from 'jose';
import { errors, type JWK, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import ServerChallenge from 'oidc-provider/lib/helpers/challenge.js';
import { checkDpopReplay, checkDpopRequired, validateDpop } from 'oidc-provider/lib/helpers/grants.js';
import internalsOf from 'oidc-provider/lib/helpers/weak_cache.js';
import type { Next } from './middleware-types.ts';
import type { IsFirstUse } from './replay-detection.ts';

/** The maximum age of a proof without a nonce, in seconds. The library has the same limit. */
const maxAge = 300;
/**
 * The maximum age of a proof with a nonce, in seconds. The nonce already shows that the proof is new, so a large
 * difference between the clocks of the client and the server is accepted.
 */
const maxAgeWithNonce = 24 * 3600;

/**
 * Derives the secret from which nonces are made. It is derived from the signing key, which all instances share. Each
 * instance therefore accepts the nonces of the others.
 */
export function nonceSecretOf(keys: readonly JWK[]): Buffer {
  const { d = '' } = keys.find(({ alg }) => alg === 'ES256') ?? {};
  return Buffer.from(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', 'DPoP nonces', 32));
}

interface BindableToken {
  setThumbprint(kind: 'jkt', thumbprint: string): void;
}

/**
 * Binds a new token to the key of the request's DPoP proof. Returns the thumbprint of the key, or undefined if the
 * request has no proof.
 * @throws {errors.InvalidDpopProof} if the proof is not valid
 * @throws {errors.UseDpopNonce} if the proof needs a nonce, or its nonce has expired
 * @throws {errors.InvalidGrant} if the proof was used before, or if the client must send a proof and has sent none
 */
export async function bindToProof(provider: Provider, ctx: KoaContextWithOIDC, token: BindableToken) {
  const proof = await validateDpop(provider, ctx);
  checkDpopRequired(provider, ctx, proof);
  if (!proof) return undefined;
  await checkDpopReplay(provider, ctx, proof, ctx.oidc.client?.clientId ?? '');
  token.setThumbprint('jkt', proof.thumbprint);
  return proof.thumbprint;
}

/** The difference between `iat` and the current time in seconds, for proofs from the past and from the future. */
const ageOf = ({ iat }: { readonly iat?: number | undefined }): number => Math.abs(Date.now() / 1000 - (iat ?? 0));

/**
 * Changes two rules of the library for proofs with a nonce:
 * - The library does not limit the age of such proofs. Here a proof that is older than a day is rejected.
 * - The library rejects an expired nonce even if the proof is recent and needs no nonce. Every client that has been
 *   idle for some minutes would need a second request. Here the expired nonce in a recent proof is accepted.
 */
export function adjustProofsWithNonce(provider: Provider): void {
  const { DPoPNonces: nonces } = internalsOf(provider);
  const checkChallenge = nonces.checkChallenge.bind(nonces);
  nonces.checkChallenge = (nonce) => {
    // The library calls this method only after it has verified the proof.
    const proof = currentProof();
    return (proof !== undefined && ageOf(proof) <= maxAge) || checkChallenge(nonce);
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
function lastUseOf({ iat }: { readonly iat?: unknown }): number {
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

export interface UserinfoProof {
  readonly proof: string | undefined;
  readonly method: string;
  readonly url: string;
  readonly accessToken: string;
  readonly jkt: string;
  readonly clientId: string;
}

export interface ProofError {
  readonly error: 'invalid_dpop_proof' | 'use_dpop_nonce' | 'invalid_token';
  readonly description: string;
  /** The value of the header `DPoP-Nonce`. */
  readonly nonce?: string;
}

/**
 * Returns a function that verifies the proof of a userinfo request. The function resolves to undefined if the proof is
 * valid.
 */
export function createProofVerifier({ keys, isFirstUse }: { keys: readonly JWK[]; isFirstUse: IsFirstUse }) {
  const nonces = new ServerChallenge(nonceSecretOf(keys), 'DPoP');
  const invalid = (description: string): ProofError => ({ error: 'invalid_dpop_proof', description });
  const useNonce = (description: string): ProofError => ({
    error: 'use_dpop_nonce',
    description,
    nonce: nonces.nextChallenge(),
  });

  return async ({ proof, jkt, clientId, ...request }: UserinfoProof): Promise<ProofError | undefined> => {
    if (proof === undefined) return invalid('no DPoP proof provided');
    let verified: DpopProof;
    try {
      verified = verifyDpopProof(proof, request);
    } catch (error) {
      if (error instanceof InvalidDpopProof) return invalid(error.message);
      throw error;
    }
    const { nonce, thumbprint, jti } = verified;
    if (ageOf(verified) > maxAge) {
      if (nonce === undefined) return useNonce('DPoP proof iat is not recent enough, use a DPoP nonce instead');
      if (ageOf(verified) > maxAgeWithNonce) return invalid('DPoP proof iat is not within a day');
      if (!nonces.checkChallenge(nonce)) return useNonce('invalid nonce in DPoP proof');
    }
    if (thumbprint !== jkt) return { error: 'invalid_token', description: 'the token is bound to another key' };
    const isNew = await isFirstUse(clientId, jti, lastUseOf(verified));
    return isNew ? undefined : invalid('DPoP proof was already used');
  };
}
