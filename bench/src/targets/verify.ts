// Verifies ES256 access tokens in the targets of the benchmark. The signature of a token is verified once, and the
// claims are cached until the token expires.
import { type KeyObject, verify } from 'node:crypto';

/** The maximum number of tokens whose claims are cached. */
const maxCachedTokens = 10_000;

export interface Claims {
  readonly iss: string;
  readonly aud: string;
  readonly exp: number;
  readonly scope: string;
  readonly facilities: string[];
}

export function tokenVerifier(key: KeyObject, expected: { issuer: string; audience: string; scope: string }) {
  const cache = new Map<string, Claims>();
  return (authorization: string | undefined): Claims | undefined => {
    const token = authorization?.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : '';
    const cached = cache.get(token);
    if (cached && cached.exp * 1000 > Date.now()) return cached;
    const [header = '', payload = '', signature = ''] = token.split('.');
    const signed = Buffer.from(`${header}.${payload}`);
    // Signatures of JWTs have the form IEEE P1363 (RFC 7518 section 3.4). By default, Node expects DER.
    if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')))
      return undefined;
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
    const isAccepted =
      claims.iss === expected.issuer &&
      [claims.aud].flat().includes(expected.audience) &&
      claims.exp * 1000 > Date.now() &&
      claims.scope.split(' ').includes(expected.scope);
    if (!isAccepted) return undefined;
    if (cache.size >= maxCachedTokens) cache.clear();
    cache.set(token, claims);
    return claims;
  };
}
