// Verifies DPoP proofs (RFC 9449) where oidc-provider does not: in our own grant types and at our own endpoints. Each
// proof and each client assertion (RFC 7523) is accepted once.
import { hash, hkdfSync } from 'node:crypto';
import { DpopNonceRequired, InvalidDpopProof, verifyDpopProof } from '@bay-booking/service/http/dpop-proof';
import { errors, type Provider, type TokenEndpointGrantContext } from 'oidc-provider';
import type { AuthConfig } from '../../config.ts';
import type { ArtifactStore } from '../storage/artifacts.ts';

/** As in oidc-provider. */
const maxAgeSeconds = 300;
const stepSeconds = 60;

/** All instances share COOKIE_KEYS and accept each other's nonces. */
export const nonceSecretOf = ({ cookieKeys }: Pick<AuthConfig, 'cookieKeys'>): Buffer =>
  Buffer.from(hkdfSync('sha256', cookieKeys[0] ?? '', '', 'DPoP nonces', 32));

/** Makes the same nonces as oidc-provider, so that a client can use one everywhere. */
function createNonces(secret: Buffer) {
  const nonceOf = (step: number): string => {
    const salt = Buffer.alloc(8);
    salt.writeBigInt64BE(BigInt(step));
    return Buffer.from(hkdfSync('sha256', secret, salt, 'DPoP', 32)).toString('base64url');
  };
  const currentStep = () => Math.floor(Date.now() / 1000 / stepSeconds);
  return {
    next: (): string => nonceOf(currentStep() + 1),
    isValid: (nonce: string): boolean => [-2, -1, 0, 1, 2].some((offset) => nonceOf(currentStep() + offset) === nonce),
  };
}

export interface ProofRequest {
  /** The header `DPoP`. */
  readonly proof: string;
  readonly method: string;
  readonly url: string;
  readonly accessToken?: string;
}

export type ProofVerifier = ReturnType<typeof createProofVerifier>;

export function createProofVerifier(secret: Buffer, recordFirstUse: RecordFirstUse) {
  const nonces = createNonces(secret);
  return {
    nextNonce: nonces.next,

    async verify({ proof, ...request }: ProofRequest) {
      try {
        return await verifyDpopProof(proof, { ...request, maxAge: maxAgeSeconds, isValidNonce: nonces.isValid });
      } catch (error) {
        if (error instanceof DpopNonceRequired) throw new errors.UseDpopNonce(error.message);
        if (error instanceof InvalidDpopProof) throw new errors.InvalidDpopProof(error.message);
        throw error;
      }
    },

    isFirstUse: (clientId: string, jti: string): Promise<boolean> =>
      recordFirstUse(clientId, jti, Date.now() / 1000 + maxAgeSeconds),
  };
}

/** Resolves to the thumbprint of the key, or undefined if the request has no proof and needs none. */
export async function verifyProofOfRequest(
  ctx: TokenEndpointGrantContext,
  verifier: ProofVerifier,
): Promise<string | undefined> {
  const { client } = ctx.oidc;
  const proof = ctx.get('DPoP');
  if (proof === '') {
    if (client.dpopBoundAccessTokens) throw new errors.InvalidGrant({ detail: 'DPoP proof JWT not provided' });
    return undefined;
  }
  ctx.set('DPoP-Nonce', verifier.nextNonce());
  const { jkt, jti } = await verifier.verify({ proof, method: ctx.method, url: ctx.oidc.urlFor('token') });
  if (!(await verifier.isFirstUse(client.clientId, jti))) {
    throw new errors.InvalidGrant({ detail: 'DPoP proof JWT Replay detected' });
  }
  return jkt;
}

/** The clocks of the instances differ, and an `iat` may be 300 s in the future. */
const marginSeconds = 600;

/** Resolves to false if the `jti` was used before. `expiresAt` is in seconds since 1970. */
export type RecordFirstUse = (issuer: string, jti: string, expiresAt: number) => Promise<boolean>;

export const createReplayDetection =
  (artifacts: Pick<ArtifactStore, 'insertOnce'>): RecordFirstUse =>
  (issuer, jti, expiresAt) => {
    const expiresIn = Math.max(0, Math.ceil(expiresAt - Date.now() / 1000)) + marginSeconds;
    return artifacts.insertOnce('ReplayDetection', hash('sha256', JSON.stringify([issuer, jti])), expiresIn);
  };

/** oidc-provider looks an identifier up and then stores it, so two concurrent requests could both pass. */
export function registerReplayDetection(provider: Provider, recordFirstUse: RecordFirstUse): void {
  (provider.ReplayDetection as { unique: RecordFirstUse }).unique = recordFirstUse;
}
