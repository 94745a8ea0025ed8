// Checks the DPoP proof of a request whose access token is bound to a key (RFC 9449 section 7).
import type { ApiError } from '@bay-booking/common/errors';
import {
  dpopAlgorithms,
  InvalidDpopProof,
  type ProvenRequest,
  verifyDpopProof,
} from '@bay-booking/service/http/dpop-proof';
import { apiError, unavailable } from '../errors.ts';
import type { UseProof } from './proof-store.ts';

/** The parts of a request that are needed to verify its access token and its proof. */
export interface AuthorizedRequest {
  readonly method: string;
  /** The path below BASE_URL, with the query string. */
  readonly url: string;
  readonly headers: { readonly authorization?: string | undefined; readonly dpop?: string | string[] | undefined };
}

export interface DpopOptions {
  readonly baseUrl: string;
  readonly useProof: UseProof;
  readonly now: () => Date;
}

/** The maximum difference between the `iat` of a proof and our clock, in seconds. */
const maxClockDifference = 60;

/** The parameters of the challenge that tell clients with which algorithms they can sign a proof. */
export const dpopParameters = `algs="${dpopAlgorithms.join(' ')}"`;

export function dpopError(error: 'invalid_token' | 'invalid_dpop_proof', reason: string): ApiError {
  const challenge = `DPoP error="${error}", ${dpopParameters}`;
  return apiError('ERR00401', { moreInfo: reason, headers: { 'WWW-Authenticate': challenge } });
}

/**
 * Checks the proof of a request. `jkt` is the thumbprint of the key that the token is bound to.
 * @throws {ApiError} 401 if the proof is not valid; 503 if the database is unavailable
 */
export async function checkProof(
  { method, url, headers }: AuthorizedRequest,
  { token, jkt }: { readonly token: string; readonly jkt: string },
  { baseUrl, useProof, now }: DpopOptions,
): Promise<void> {
  const { dpop } = headers;
  // `dpop` is undefined if the request has no proof. Node joins repeated headers to one text, which `verify` rejects.
  if (typeof dpop !== 'string') throw dpopError('invalid_dpop_proof', 'The request needs one DPoP proof.');
  const { thumbprint, jti, iat } = verify(dpop, { method, url: baseUrl + url, accessToken: token });
  if (Math.abs(now().getTime() / 1000 - iat) > maxClockDifference) {
    throw dpopError('invalid_dpop_proof', `The iat of the proof is not within ${maxClockDifference} s.`);
  }
  if (thumbprint !== jkt) throw dpopError('invalid_token', 'The token is bound to another key.');
  const isFirstUse = await useProof(thumbprint, jti).catch((error: unknown) => {
    throw unavailable(error);
  });
  if (!isFirstUse) throw dpopError('invalid_dpop_proof', 'The proof was already used.');
}

/** Verifies the proof, and converts an error of the verification to a 401 response. */
function verify(proof: string, request: ProvenRequest) {
  try {
    return verifyDpopProof(proof, request);
  } catch (error) {
    if (error instanceof InvalidDpopProof) throw dpopError('invalid_dpop_proof', error.message);
    throw error;
  }
}
