// Reads the header of a DPoP proof (RFC 9449 section 4.2): the algorithm, and the public key of the client.
import { createPublicKey, hash, type JsonWebKey, type KeyObject } from 'node:crypto';

/** EdDSA and Ed25519 are two names of one algorithm (RFC 9864). */
export const dpopAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;
export type DpopAlgorithm = (typeof dpopAlgorithms)[number];

export class InvalidDpopProof extends Error {
  override readonly name = 'InvalidDpopProof';
}

export interface DpopHeader {
  readonly alg: DpopAlgorithm;
  readonly key: KeyObject;
  /** The thumbprint of the key (RFC 7638). Access tokens have it in `cnf.jkt`. */
  readonly thumbprint: string;
}

const minRsaBits = 2_048;
const maxRsaBits = 4_096;

/**
 * A cache of headers by their encoded text. All proofs of a client have the same header. Finding a header in the cache
 * takes 1 µs, and reading the key of a header takes 37 µs.
 */
const headers = new Map<string, DpopHeader>();
const maxHeaders = 5_000;

/**
 * Reads the header of a proof. `encoded` is the first part of the JWT.
 * @throws {InvalidDpopProof} if the header is malformed, if its type, algorithm or key is not allowed, or if it has
 * `crit`
 */
export function readDpopHeader(encoded: string): DpopHeader {
  const cached = headers.get(encoded);
  if (cached) return cached;
  const { typ, alg, jwk, crit } = decodeProofPart(encoded);
  if (typ !== 'dpop+jwt') throw new InvalidDpopProof('The type of the proof is not dpop+jwt.');
  if (!dpopAlgorithms.includes(alg as DpopAlgorithm))
    throw new InvalidDpopProof('The proof is signed with an algorithm that is not supported.');
  if (crit !== undefined) throw new InvalidDpopProof('The proof needs an unknown extension.');
  const header = { alg: alg as DpopAlgorithm, ...readPublicKey(jwk, alg as DpopAlgorithm) };
  // The first key of a Map is the one that was added first.
  if (headers.size >= maxHeaders) headers.delete(headers.keys().next().value as string);
  headers.set(encoded, header);
  return header;
}

/** @throws {InvalidDpopProof} if the part is not a JSON object in base64url */
export function decodeProofPart(encoded: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString());
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The error below is also thrown for text that is not JSON.
  }
  throw new InvalidDpopProof('The proof is not a signed JWT.');
}

/** The members of a JWK that only private and symmetric keys have (RFC 7518 section 6). */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

interface KeyRequirements {
  readonly kty: string;
  /** The curve. RSA keys have none. */
  readonly crv?: string;
  /** The members of the public key that its thumbprint covers, in the order of RFC 7638 section 3.2. */
  readonly members: readonly string[];
}

const ed25519: KeyRequirements = { kty: 'OKP', crv: 'Ed25519', members: ['crv', 'kty', 'x'] };
const keyRequirements: Readonly<Record<DpopAlgorithm, KeyRequirements>> = {
  ES256: { kty: 'EC', crv: 'P-256', members: ['crv', 'kty', 'x', 'y'] },
  PS256: { kty: 'RSA', members: ['e', 'kty', 'n'] },
  EdDSA: ed25519,
  Ed25519: ed25519,
};

function readPublicKey(jwk: unknown, alg: DpopAlgorithm): { readonly key: KeyObject; readonly thumbprint: string } {
  if (typeof jwk !== 'object' || jwk === null) throw new InvalidDpopProof('The proof contains no key.');
  const given = jwk as Record<string, unknown>;
  if (secretMembers.some((member) => member in given)) throw new InvalidDpopProof('The key of the proof is private.');
  const { kty, crv, members } = keyRequirements[alg];
  if (given.kty !== kty || given.crv !== crv)
    throw new InvalidDpopProof('The key of the proof does not fit its algorithm.');
  const publicJwk = Object.fromEntries(members.map((member) => [member, given[member]]));
  let key: KeyObject;
  try {
    key = createPublicKey({ key: publicJwk as JsonWebKey, format: 'jwk' });
  } catch {
    throw new InvalidDpopProof('The key of the proof is not valid.');
  }
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && (bits < minRsaBits || bits > maxRsaBits))
    throw new InvalidDpopProof(`An RSA key must have ${minRsaBits} to ${maxRsaBits} bits.`);
  return { key, thumbprint: hash('sha256', JSON.stringify(publicJwk), 'base64url') };
}
