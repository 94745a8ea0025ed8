// Verifies DPoP proofs (RFC 9449 section 4.3): a JWT with which a client proves, for one request, that it has the key
// that its access token is bound to.
//
// The caller checks the time, the nonce and that a proof is used once, because the two services have different rules
// for these.
import { createPublicKey, hash, type JsonWebKey, type KeyObject, verify } from 'node:crypto';

/** EdDSA and Ed25519 are two names of one algorithm (RFC 9864). */
export const dpopAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;
type DpopAlgorithm = (typeof dpopAlgorithms)[number];

export interface DpopProof {
  /** The thumbprint of the key (RFC 7638), as `cnf.jkt` of an access token has it. */
  readonly thumbprint: string;
  readonly jti: string;
  /** Seconds since 1970. */
  readonly iat: number;
  readonly nonce: string | undefined;
}

export interface ProvenRequest {
  readonly method: string;
  /** The public address of the request. A query does not count. */
  readonly url: string;
  readonly accessToken: string;
}

export class InvalidDpopProof extends Error {
  override readonly name = 'InvalidDpopProof';
}

const maxLength = 8_192;
const minRsaBits = 2_048;
const maxRsaBits = 4_096;

/** @throws {InvalidDpopProof} */
export function verifyDpopProof(proof: string, request: ProvenRequest): DpopProof {
  const parts = proof.split('.');
  if (proof.length > maxLength || parts.length !== 3) throw new InvalidDpopProof('The proof is not a signed JWT.');
  const [encodedHeader = '', encodedPayload = '', encodedSignature = ''] = parts;
  const { typ, alg, jwk, crit } = jsonOf(encodedHeader);
  if (typ !== 'dpop+jwt') throw new InvalidDpopProof('The type of the proof is not dpop+jwt.');
  if (!dpopAlgorithms.includes(alg as DpopAlgorithm))
    throw new InvalidDpopProof('The proof is signed with an algorithm that is not supported.');
  if (crit !== undefined) throw new InvalidDpopProof('The proof needs an unknown extension.');
  const key = publicKeyOf(jwk, alg as DpopAlgorithm);
  const signed = Buffer.from(`${encodedHeader}.${encodedPayload}`);
  if (!isSignedBy(key.keyObject, alg as DpopAlgorithm, signed, Buffer.from(encodedSignature, 'base64url')))
    throw new InvalidDpopProof('The signature of the proof is not valid.');

  const { jti, iat, nonce, htm, htu, ath } = jsonOf(encodedPayload);
  if (typeof jti !== 'string' || jti === '') throw new InvalidDpopProof('The proof has no jti.');
  if (typeof iat !== 'number') throw new InvalidDpopProof('The proof has no iat.');
  if (nonce !== undefined && typeof nonce !== 'string') throw new InvalidDpopProof('The nonce is not a string.');
  if (htm !== request.method) throw new InvalidDpopProof('The proof is for another method.');
  if (typeof htu !== 'string' || !isSameAddress(htu, request.url))
    throw new InvalidDpopProof('The proof is for another address.');
  if (ath !== hash('sha256', request.accessToken, 'base64url'))
    throw new InvalidDpopProof('The proof is for another access token.');
  return { thumbprint: key.thumbprint, jti, iat, nonce };
}

function jsonOf(encoded: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString());
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The error below covers this case too.
  }
  throw new InvalidDpopProof('The proof is not a signed JWT.');
}

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** The members of a public key that its thumbprint covers, in the order of RFC 7638 section 3.2. */
const members: Readonly<Record<DpopAlgorithm, readonly string[]>> = {
  ES256: ['crv', 'kty', 'x', 'y'],
  PS256: ['e', 'kty', 'n'],
  EdDSA: ['crv', 'kty', 'x'],
  Ed25519: ['crv', 'kty', 'x'],
};
const keyTypes: Readonly<Record<DpopAlgorithm, string>> = {
  ES256: 'EC P-256',
  PS256: 'RSA',
  EdDSA: 'OKP Ed25519',
  Ed25519: 'OKP Ed25519',
};

function publicKeyOf(jwk: unknown, alg: DpopAlgorithm) {
  if (typeof jwk !== 'object' || jwk === null) throw new InvalidDpopProof('The proof contains no key.');
  const all = jwk as Record<string, unknown>;
  if (privateMembers.some((member) => member in all)) throw new InvalidDpopProof('The key of the proof is private.');
  const type = [all.kty, ...(all.crv === undefined ? [] : [all.crv])].join(' ');
  if (type !== keyTypes[alg]) throw new InvalidDpopProof('The key of the proof does not fit its algorithm.');
  const key = Object.fromEntries(members[alg].map((member) => [member, all[member]]));
  let keyObject: KeyObject;
  try {
    keyObject = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
  } catch {
    throw new InvalidDpopProof('The key of the proof is not valid.');
  }
  const bits = keyObject.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && (bits < minRsaBits || bits > maxRsaBits))
    throw new InvalidDpopProof(`An RSA key must have ${minRsaBits} to ${maxRsaBits} bits.`);
  return { keyObject, thumbprint: hash('sha256', JSON.stringify(key), 'base64url') };
}

/** Uses `verify` of node:crypto, which takes half the CPU time of WebCrypto for an ES256 signature. */
function isSignedBy(key: KeyObject, alg: DpopAlgorithm, data: Buffer, signature: Buffer): boolean {
  if (alg === 'ES256') return verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature);
  // RFC 7518 section 3.5: padding 6 is RSASSA-PSS, and the salt is as long as the hash.
  if (alg === 'PS256') return verify('sha256', data, { key, padding: 6, saltLength: 32 }, signature);
  return verify(null, data, key, signature);
}

/** RFC 9449 section 4.3: query and fragment do not count, and both addresses are normalised. */
function isSameAddress(address: string, requested: string): boolean {
  const [first, second] = [URL.parse(address), URL.parse(requested)];
  return first !== null && second !== null && first.origin === second.origin && first.pathname === second.pathname;
}
