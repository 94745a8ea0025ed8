// Checks that a request uses an access token in the way in which the token was issued (RFC 9449 section 7).
import type { Request } from 'express';
import { errors } from 'oidc-provider';
import type { VerifiedAccessToken } from '../tokens/access-token-verifier.ts';
import type { ProofVerifier } from '../tokens/dpop.ts';
import type { BearerError, PresentedToken } from './bearer-token.ts';

export const invalidToken: BearerError = {
  status: 401,
  error: 'invalid_token',
  description: 'invalid token provided',
};

/** A bound token needs the scheme DPoP and a proof for `url`, any other token the scheme Bearer. */
export const createBindingCheck =
  (proofs: ProofVerifier) =>
  async (
    request: Request,
    presented: PresentedToken,
    { cnf: { jkt } = {}, client_id: clientId }: VerifiedAccessToken,
    url: string,
  ): Promise<BearerError | undefined> => {
    const scheme = 'DPoP';
    const isBound = jkt !== undefined;
    if (isBound !== (presented.scheme === scheme)) return { ...invalidToken, scheme };
    if (!isBound) return undefined;
    const invalidProof = (description: string) =>
      ({ status: 401, error: 'invalid_dpop_proof', description, scheme }) as const;
    const proof = request.get('DPoP');
    if (proof === undefined) return invalidProof('no DPoP proof provided');
    try {
      const verified = await proofs.verify({ proof, method: request.method, url, accessToken: presented.token });
      if (verified.jkt !== jkt) return { ...invalidToken, description: 'the token is bound to another key', scheme };
      return (await proofs.isFirstUse(clientId, verified.jti))
        ? undefined
        : invalidProof('DPoP proof was already used');
    } catch (error) {
      if (error instanceof errors.InvalidDpopProof) return invalidProof(error.error_description ?? '');
      if (!(error instanceof errors.UseDpopNonce)) throw error;
      const description = error.error_description ?? '';
      return { status: 401, error: error.error, description, nonce: proofs.nextNonce(), scheme };
    }
  };
