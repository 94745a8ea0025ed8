// Verifies DPoP proofs (RFC 9449 section 4.3). A DPoP proof is a JWT for a single request, with which the client proves
// that it has the key to which its access token is bound.
//
// The caller must compare the thumbprint with the one in the access token, check the time and the nonce of the proof,
// and check that the proof is used only once. The two services have different rules for the time and the nonce.
import { constants, hash, verify } from 'node:crypto';
import { joseToDer } from 'ecdsa-sig-formatter';
import { type DpopHeader, decodeProofPart, InvalidDpopProof, readDpopHeader } from './dpop-header.ts';

export { dpopAlgorithms, InvalidDpopProof } from './dpop-header.ts';

export interface DpopProof {
  /** The thumbprint of the key (RFC 7638). Access tokens have it in `cnf.jkt`. */
  readonly thumbprint: string;
  readonly jti: string;
  /** When the proof was created, in seconds since 1970. */
  readonly iat: number;
  readonly nonce: string | undefined;
}

export interface ProvenRequest {
  readonly method: string;
  /** The public address of the request. Its query is ignored. */
  readonly url: string;
  readonly accessToken: string;
}

/** The maximum length of a proof, in characters. */
const maxLength = 8_192;

/**
 * Returns the claims of a valid proof.
 * @throws {InvalidDpopProof} if the proof is malformed, not correctly signed, or for another request or access token
 */
export function verifyDpopProof(proof: string, request: ProvenRequest): DpopProof {
  const parts = proof.split('.');
  if (proof.length > maxLength || parts.length !== 3) throw new InvalidDpopProof('The proof is not a signed JWT.');
  const [encodedHeader = '', encodedPayload = '', encodedSignature = ''] = parts;
  const header = readDpopHeader(encodedHeader);
  const signed = Buffer.from(`${encodedHeader}.${encodedPayload}`);
  if (!isSignedBy(header, signed, encodedSignature))
    throw new InvalidDpopProof('The signature of the proof is not valid.');

  const { jti, iat, nonce, htm, htu, ath } = decodeProofPart(encodedPayload);
  if (typeof jti !== 'string' || jti === '') throw new InvalidDpopProof('The proof has no jti.');
  if (typeof iat !== 'number') throw new InvalidDpopProof('The proof has no iat.');
  if (nonce !== undefined && typeof nonce !== 'string') throw new InvalidDpopProof('The nonce is not a string.');
  if (htm !== request.method) throw new InvalidDpopProof('The proof is for another method.');
  if (typeof htu !== 'string' || !isSameAddress(htu, request.url))
    throw new InvalidDpopProof('The proof is for another address.');
  if (ath !== hash('sha256', request.accessToken, 'base64url'))
    throw new InvalidDpopProof('The proof is for another access token.');
  return { thumbprint: header.thumbprint, jti, iat, nonce };
}

/**
 * Verifies a signature with `verify` of node:crypto, which takes half the CPU time of WebCrypto.
 *
 * A signature with ES256 consists of the two numbers r and s, with 32 bytes each (RFC 7518 section 3.4). With the
 * option `dsaEncoding: 'ieee-p1363'`, `verify` could read this format, but would take 75 µs instead of the 52 µs that
 * it takes for the DER format. Converting the signature to DER takes only 2 µs. `joseToDer` throws an error if the
 * signature does not have 64 bytes, so the length is checked first.
 */
function isSignedBy({ alg, key }: DpopHeader, data: Buffer, encodedSignature: string): boolean {
  const signature = Buffer.from(encodedSignature, 'base64url');
  if (alg === 'ES256') return signature.length === 64 && verify('sha256', data, key, joseToDer(signature, 'ES256'));
  // The salt is as long as the hash, 32 bytes (RFC 7518 section 3.5).
  if (alg === 'PS256')
    return verify('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, signature);
  // EdDSA has its own hash function, so node:crypto expects null.
  return verify(null, data, key, signature);
}

/** Compares the addresses after normalisation, without query and fragment (RFC 9449 section 4.3). */
function isSameAddress(address: string, requested: string): boolean {
  if (address === requested) return true;
  const [first, second] = [URL.parse(address), URL.parse(requested)];
  return first !== null && second !== null && first.origin === second.origin && first.pathname === second.pathname;
}
