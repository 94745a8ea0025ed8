// Binds tokens to the key of a DPoP proof (RFC 9449), where oidc-provider does not do that itself: in our own grants,
// and at our own userinfo endpoint.
//
// The library has no public function for that, so this file uses three internal modules of the library. Read them
// again at every upgrade. test/dpop.test.ts covers all three.
import { hkdfSync } from 'node:crypto';
import { type DpopProof, InvalidDpopProof, verifyDpopProof } from '@bay-booking/service/http/dpop-proof';
import { decodeJwt, type JWTPayload } from 'jose';
import { errors, type JWK, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import ServerChallenge from 'oidc-provider/lib/helpers/challenge.js';
import { checkDpopReplay, checkDpopRequired, validateDpop } from 'oidc-provider/lib/helpers/grants.js';
import internalsOf from 'oidc-provider/lib/helpers/weak_cache.js';
import type { Next } from './middleware-types.ts';
import type { IsFirstUse } from './replay-detection.ts';

/** Seconds. The library has the same limit for proofs without a nonce. */
const maxAge = 300;
/** Seconds. A nonce shows that a proof is new, so the clock of the client may be wrong by this much. */
const maxAgeWithNonce = 24 * 3600;

/** The secret of the nonces. All instances have the same keys, so they accept each other's nonces. */
export function nonceSecretOf(keys: readonly JWK[]): Buffer {
  const { d = '' } = keys.find(({ alg }) => alg === 'ES256') ?? {};
  return Buffer.from(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', 'DPoP nonces', 32));
}

interface BindableToken {
  setThumbprint(kind: 'jkt', thumbprint: string): void;
}

/**
 * Binds a new token to the key of the request's proof, if there is one. Returns the thumbprint of the key.
 * @throws {errors.InvalidDpopProof | errors.UseDpopNonce | errors.InvalidGrant} also if the client must send a proof
 */
export async function bindToProof(provider: Provider, ctx: KoaContextWithOIDC, token: BindableToken) {
  const proof = await validateDpop(provider, ctx);
  checkDpopRequired(provider, ctx, proof);
  if (!proof) return undefined;
  await checkDpopReplay(provider, ctx, proof, ctx.oidc.client?.clientId ?? '');
  token.setThumbprint('jkt', proof.thumbprint);
  return proof.thumbprint;
}

/** In seconds. A proof from the future is as old as its `iat` is ahead. */
const ageOf = ({ iat }: { readonly iat?: number | undefined }): number => Math.abs(Date.now() / 1000 - (iat ?? 0));

/**
 * Changes how the library treats proofs with a nonce. It rejects those that are older than a day; the library does not
 * limit their age. It accepts an outdated nonce in a proof that needs none; the library would demand a new nonce from
 * every client that has been idle for some minutes.
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
 * The last time at which a proof may be used, in seconds since 1970. With a nonce, `iat` may be a day ahead. When that
 * time has come, the proof needs no nonce any more, so it must be remembered until then.
 */
function lastUseOf({ iat }: { readonly iat?: unknown }): number {
  const now = Date.now() / 1000;
  return Math.min(Math.max(now, typeof iat === 'number' ? iat : 0), now + maxAgeWithNonce) + maxAge;
}

/** Lets the library's check remember proofs for as long as they may be used. */
export const rememberUntilLastUse =
  (isFirstUse: IsFirstUse): IsFirstUse =>
  (issuer, jti, expiresAt) =>
    isFirstUse(issuer, jti, Math.max(expiresAt, lastUseOf(currentProof() ?? {})));

/** The proof of the current request. It may be invalid. */
const currentProof = () => payloadOf((Provider.ctx as KoaContextWithOIDC | undefined)?.get('DPoP') ?? '');

/** Undefined for a text that is not a JWT. The library verifies the proof later. */
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

/** Verifies the proof of a userinfo request. The returned function resolves to undefined for a valid proof. */
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
