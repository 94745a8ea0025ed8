// Verifies DPoP proofs (RFC 9449 section 4.3). The caller must compare `jkt` with the access token's key and accept
// each `jti` only once.
import { hash } from 'node:crypto';
import { calculateJwkThumbprint, EmbeddedJWK, errors, type JWK, jwtVerify } from 'jose';

/** EdDSA and Ed25519 are two names of one algorithm (RFC 9864). */
export const dpopAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;

export class InvalidDpopProof extends Error {
  override readonly name: string = 'InvalidDpopProof';
}

/** The proof is correct, but it needs a new nonce (RFC 9449 section 8). */
export class DpopNonceRequired extends InvalidDpopProof {
  override readonly name = 'DpopNonceRequired';
}

export interface ProvenRequest {
  readonly method: string;
  /** The request's public URL. Its query is ignored. */
  readonly url: string;
  /** Undefined for a token request. */
  readonly accessToken?: string;
  /** The maximum difference between `iat` and `now`, in seconds. */
  readonly maxAge: number;
  readonly now?: Date;
  /** A valid nonce replaces a recent `iat`. Nonces are ignored if this function is left out. */
  readonly isValidNonce?: (nonce: string) => boolean;
}

/** In characters. */
const maxLength = 8_192;
/** The base64url length of an RSA modulus of 4096 bits. jose checks the minimum of 2048 bits. */
const maxModulusLength = 683;

export interface DpopProof {
  /** The key's thumbprint (RFC 7638), which access tokens have in `cnf.jkt`. */
  readonly jkt: string;
  readonly jti: string;
  /** In seconds since 1970. */
  readonly iat: number;
}

/** @throws {InvalidDpopProof} if the proof is malformed, too old, or for another request or access token */
export async function verifyDpopProof(proof: string, request: ProvenRequest): Promise<DpopProof> {
  const { method, url, accessToken, maxAge, now = new Date(), isValidNonce } = request;
  if (proof.length > maxLength) throw new InvalidDpopProof('The proof is too long.');
  const { payload, jwk } = await verifySignature(proof, now);
  const { jti, iat, nonce, htm, htu, ath } = payload;
  if (typeof jti !== 'string' || jti === '') throw new InvalidDpopProof('The proof has no jti.');
  if (typeof iat !== 'number') throw new InvalidDpopProof('The proof has no iat.');
  if (nonce !== undefined && typeof nonce !== 'string') throw new InvalidDpopProof('The nonce is not a string.');
  if (htm !== method) throw new InvalidDpopProof('The proof is for another method.');
  if (typeof htu !== 'string' || !isSameAddress(htu, url)) {
    throw new InvalidDpopProof('The proof is for another address.');
  }
  if (accessToken !== undefined && ath !== hash('sha256', accessToken, 'base64url')) {
    throw new InvalidDpopProof('The proof is for another access token.');
  }
  if (isValidNonce && nonce !== undefined) {
    if (!isValidNonce(nonce)) throw new DpopNonceRequired('The nonce of the proof is not valid.');
  } else if (Math.abs(now.getTime() / 1000 - iat) > maxAge) {
    const message = `The iat of the proof is not within ${maxAge} s.`;
    throw isValidNonce ? new DpopNonceRequired(message) : new InvalidDpopProof(message);
  }
  return { jkt: await calculateJwkThumbprint(jwk), jti, iat };
}

async function verifySignature(proof: string, currentDate: Date) {
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, publicKeyOf, {
      typ: 'dpop+jwt',
      algorithms: [...dpopAlgorithms],
      currentDate,
    });
    return { payload, jwk: protectedHeader.jwk as JWK };
  } catch (cause) {
    const message =
      cause instanceof errors.JWSSignatureVerificationFailed
        ? 'The signature of the proof is not valid.'
        : 'The proof is not a valid JWT with the type dpop+jwt, a supported algorithm and a public key.';
    throw new InvalidDpopProof(message, { cause });
  }
}

/** `EmbeddedJWK` rejects private keys. A very long RSA key would cost too much CPU time. */
const publicKeyOf: typeof EmbeddedJWK = (header, token) => {
  if ((header?.jwk?.n?.length ?? 0) > maxModulusLength) throw new InvalidDpopProof('The RSA key is too long.');
  return EmbeddedJWK(header, token);
};

/** Compares normalised URLs without query and fragment (RFC 9449 section 4.3). */
function isSameAddress(address: string, requested: string): boolean {
  const [first, second] = [URL.parse(address), URL.parse(requested)];
  return first !== null && second !== null && first.origin === second.origin && first.pathname === second.pathname;
}
