// Checks the DPoP proof of a request whose access token is bound to a key (RFC 9449 section 7).
import { InvalidDpopProof, verifyDpopProof } from '@bay-booking/service/http/dpop-proof';
import { unavailable } from '../errors.ts';
import { tokenError } from './challenges.ts';
import type { UseProof } from './proof-store.ts';

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

const maxClockDifferenceSeconds = 60;

/**
 * `jkt` is the thumbprint of the key that the token is bound to.
 * @throws {ApiError} 401 if the proof is not valid; 503 if the database is unavailable
 */
export async function checkProof(
  { method, url, headers }: AuthorizedRequest,
  { token, jkt }: { readonly token: string; readonly jkt: string },
  { baseUrl, useProof, now }: DpopOptions,
): Promise<void> {
  const invalid = (error: 'invalid_token' | 'invalid_dpop_proof', reason: string) =>
    tokenError(baseUrl, { scheme: 'DPoP', error, reason });
  const { dpop } = headers;
  // Node joins repeated headers to one string, which is not a valid proof.
  if (typeof dpop !== 'string') throw invalid('invalid_dpop_proof', 'The request needs one DPoP proof.');
  const request = { method, url: baseUrl + url, accessToken: token, maxAge: maxClockDifferenceSeconds, now: now() };
  const proof = await verifyDpopProof(dpop, request).catch((error: unknown) => {
    throw error instanceof InvalidDpopProof ? invalid('invalid_dpop_proof', error.message) : error;
  });
  if (proof.jkt !== jkt) throw invalid('invalid_token', 'The token is bound to another key.');
  const isFirstUse = await useProof(proof.jkt, proof.jti).catch((error: unknown) => {
    throw unavailable(error);
  });
  if (!isFirstUse) throw invalid('invalid_dpop_proof', 'The proof was already used.');
}
