// Verifies DPoP proofs (RFC 9449) where oidc-provider does not: in token requests that our own handlers serve
// (grants/), and at our own userinfo endpoint.
//
// The library has no public functions for DPoP, so this file uses an internal module of the library. Read that module
// again at every upgrade of the library. test/dpop.test.ts tests the result.
import { type DpopProof, InvalidDpopProof, verifyDpopProof } from '@bay-booking/service/http/dpop-proof';
import type { JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { checkDpopReplay, checkDpopRequired, validateDpop } from 'oidc-provider/lib/helpers/grants.js';
import { acceptableUntil, ageOf, createNonces, maxAge, maxAgeWithNonce } from './dpop-nonces.ts';
import type { RecordFirstUse } from './replay-detection.ts';

/**
 * Verifies the DPoP proof of a token request. Returns the thumbprint of its key, for `setThumbprint('jkt', …)` of a
 * token. Returns undefined if the request has no proof.
 * @throws {errors.InvalidDpopProof} if the proof is not valid
 * @throws {errors.UseDpopNonce} if the proof needs a nonce, or its nonce has expired
 * @throws {errors.InvalidGrant} if the proof was used before, or if the client must send a proof and has sent none
 */
export async function verifyProofOfRequest(provider: Provider, ctx: KoaContextWithOIDC): Promise<string | undefined> {
  const proof = await validateDpop(provider, ctx);
  checkDpopRequired(provider, ctx, proof);
  if (!proof) return undefined;
  await checkDpopReplay(provider, ctx, proof, ctx.oidc.client?.clientId ?? '');
  return proof.thumbprint;
}

export interface UserinfoProof {
  /** The value of the header `DPoP`. */
  readonly proof: string | undefined;
  readonly method: string;
  readonly url: string;
  readonly accessToken: string;
  /** The thumbprint of the key to which the access token is bound. */
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
export function createProofVerifier({
  keys,
  recordFirstUse,
}: {
  keys: readonly JWK[];
  recordFirstUse: RecordFirstUse;
}) {
  const nonces = createNonces(keys);
  const invalidProof = (description: string): ProofError => ({ error: 'invalid_dpop_proof', description });
  const nonceRequired = (description: string): ProofError => ({
    error: 'use_dpop_nonce',
    description,
    nonce: nonces.next(),
  });

  return async ({ proof, jkt, clientId, ...request }: UserinfoProof): Promise<ProofError | undefined> => {
    if (proof === undefined) return invalidProof('no DPoP proof provided');
    let verified: DpopProof;
    try {
      verified = verifyDpopProof(proof, request);
    } catch (error) {
      if (error instanceof InvalidDpopProof) return invalidProof(error.message);
      throw error;
    }
    const { nonce, thumbprint, jti } = verified;
    if (ageOf(verified) > maxAge) {
      if (nonce === undefined) return nonceRequired('DPoP proof iat is not recent enough, use a DPoP nonce instead');
      if (ageOf(verified) > maxAgeWithNonce) return invalidProof('DPoP proof iat is not within a day');
      if (!nonces.check(nonce)) return nonceRequired('invalid nonce in DPoP proof');
    }
    if (thumbprint !== jkt) return { error: 'invalid_token', description: 'the token is bound to another key' };
    const isNew = await recordFirstUse(clientId, jti, acceptableUntil(verified));
    return isNew ? undefined : invalidProof('DPoP proof was already used');
  };
}
