// Checks the DPoP proof of a request whose access token is bound to a key (RFC 9449 section 7).
import type { ApiError } from '@bay-booking/common/errors';
import { dpopAlgorithms, InvalidDpopProof, verifyDpopProof } from '@bay-booking/service/http/dpop-proof';
import { apiError, unavailable } from '../errors.ts';
import type { UseProof } from './proof-store.ts';

/** The parts of a request that identify the caller. */
export interface AuthorizedRequest {
  readonly method: string;
  /** Below BASE_URL, with the query. */
  readonly url: string;
  readonly headers: { readonly authorization?: string | undefined; readonly dpop?: string | string[] | undefined };
}

export interface DpopOptions {
  readonly baseUrl: string;
  readonly useProof: UseProof;
  readonly now: () => Date;
}

/** Seconds between the `iat` of a proof and the clock of this host. */
const maxAge = 60;

export const dpopParameters = `algs="${dpopAlgorithms.join(' ')}"`;

export function dpopError(error: 'invalid_token' | 'invalid_dpop_proof', reason: string): ApiError {
  const challenge = `DPoP error="${error}", ${dpopParameters}`;
  return apiError('ERR00401', { moreInfo: reason, headers: { 'WWW-Authenticate': challenge } });
}

/** @throws {ApiError} 401, 503 if the database is unavailable */
export async function checkProof(
  { method, url, headers }: AuthorizedRequest,
  { token, jkt }: { readonly token: string; readonly jkt: string },
  { baseUrl, useProof, now }: DpopOptions,
): Promise<void> {
  const { dpop } = headers;
  if (typeof dpop !== 'string') throw dpopError('invalid_dpop_proof', 'The request needs one DPoP proof.');
  const { thumbprint, jti, iat } = verify(dpop, { method, url: baseUrl + url, accessToken: token });
  if (Math.abs(now().getTime() / 1000 - iat) > maxAge)
    throw dpopError('invalid_dpop_proof', 'The iat of the proof is not within 60 s.');
  if (thumbprint !== jkt) throw dpopError('invalid_token', 'The token is bound to another key.');
  const isFirstUse = await useProof(thumbprint, jti).catch((error: unknown) => {
    throw unavailable(error);
  });
  if (!isFirstUse) throw dpopError('invalid_dpop_proof', 'The proof was already used.');
}

function verify(...[proof, request]: Parameters<typeof verifyDpopProof>) {
  try {
    return verifyDpopProof(proof, request);
  } catch (error) {
    if (error instanceof InvalidDpopProof) throw dpopError('invalid_dpop_proof', error.message);
    throw error;
  }
}
