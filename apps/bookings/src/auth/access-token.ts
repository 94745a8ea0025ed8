// Verifies the access token of a request, which must be a JWT access token (RFC 9068).
//
// A token that is bound to a key is sent with the scheme DPoP and a proof (dpop.ts). Any other token is sent with the
// scheme Bearer (RFC 6750).
import type { ApiError } from '@bay-booking/common/errors';
import jsonwebtoken, { type JwtPayload } from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { apiError, unavailable } from '../errors.ts';
import type { Caller } from './caller.ts';
import { type AuthorizedRequest, checkProof, type DpopOptions, dpopError, dpopParameters } from './dpop.ts';
import { NoSigningKeysError, type SigningKeys } from './signing-keys.ts';

/** @throws {ApiError} 401, 403 if the token lacks the scope, or 503 without signing keys or the store of used proofs */
export type Authorize = (request: AuthorizedRequest) => Promise<Caller>;

export interface AccessTokenVerifierOptions extends DpopOptions {
  readonly signingKeys: Pick<SigningKeys, 'find' | 'has'>;
  readonly issuer: string;
  readonly audience: string;
  readonly scope: string;
  /** The address that the challenges name (RFC 9728 section 5.1). */
  readonly resourceMetadataUrl: string;
}

interface VerifiedToken {
  readonly caller: Caller;
  readonly kid: string | undefined;
  /** In milliseconds since 1970, with the clock tolerance. */
  readonly expiresAt: number;
  /** Undefined for a Bearer token. */
  readonly binding: { readonly token: string; readonly jkt: string } | undefined;
}

const clockToleranceSeconds = 10;
const retryAfterSeconds = 2;
const maxTokenLength = 32_768;
const tokenTypes: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt']);
/** RFC 6750 section 2.1. Captures the token. */
const tokenHeader = /^(?:Bearer|DPoP) +([A-Za-z0-9._~+/-]+=*) *$/i;

export function createAccessTokenVerifier(options: AccessTokenVerifierOptions): Authorize {
  const { signingKeys, resourceMetadataUrl, now } = options;
  const bearerChallenge = `Bearer realm="bay-booking", resource_metadata="${resourceMetadataUrl}"`;
  const dpopChallenge = `DPoP ${dpopParameters}`;
  // By the Authorization header. Verifying a token that is signed with ES256 takes 100 µs.
  const verifiedTokens = new LRUCache<string, VerifiedToken>({
    max: 10_000,
    maxSize: 20_000_000,
    sizeCalculation: (_token, authorization) => authorization.length,
  });

  const findVerified = (authorization: string): VerifiedToken | undefined => {
    const token = verifiedTokens.get(authorization);
    // A token is no longer valid if its signing key was removed from the JWKS.
    return token && token.expiresAt > now().getTime() && signingKeys.has(token.kid) ? token : undefined;
  };

  const verifyHeader = async (authorization: string): Promise<VerifiedToken> => {
    const scheme = /^(?:Bearer|DPoP)\b/i.exec(authorization)?.[0].toLowerCase();
    if (scheme === undefined) throw unauthorized(`${bearerChallenge}, ${dpopChallenge}`);
    const isDpop = scheme === 'dpop';
    const invalidToken = (reason: string): ApiError =>
      isDpop ? dpopError('invalid_token', reason) : unauthorized(bearerChallenge, reason);
    const token = tokenHeader.exec(authorization)?.[1];
    if (token === undefined || token.length > maxTokenLength)
      throw invalidToken('The Authorization header contains no token.');
    const challenge = isDpop ? dpopChallenge : bearerChallenge;
    const verified = await verifyToken(token, { ...options, isDpop, challenge, invalidToken });
    verifiedTokens.set(authorization, verified);
    return verified;
  };

  return async (request) => {
    const { authorization = '' } = request.headers;
    const { caller, binding } = findVerified(authorization) ?? (await verifyHeader(authorization));
    if (binding) await checkProof(request, binding, options);
    return caller;
  };
}

interface TokenVerification extends AccessTokenVerifierOptions {
  readonly isDpop: boolean;
  /** The challenge for the scheme of the token, without `error`. */
  readonly challenge: string;
  readonly invalidToken: (reason: string) => ApiError;
}

async function verifyToken(token: string, options: TokenVerification): Promise<VerifiedToken> {
  const { scope, isDpop, challenge, invalidToken } = options;
  const { claims, kid } = await verifySignature(token, options);
  if (typeof claims.exp !== 'number') throw invalidToken('The token has no expiry.');
  const jkt: unknown = claims.cnf?.jkt;
  if (claims.cnf !== undefined && typeof jkt !== 'string') throw invalidToken('The token is bound in an unknown way.');
  if ((jkt !== undefined) !== isDpop)
    throw dpopError('invalid_token', 'A token that is bound to a key, and no other, must be sent as DPoP.');
  // Holds, webhooks and Idempotency-Keys belong to a client, so every caller needs a client id.
  const clientId = typeof claims.client_id === 'string' && claims.client_id !== '' ? claims.client_id : claims.sub;
  if (!clientId) throw invalidToken('The token names no client.');
  const scopes = String(claims.scope ?? '').split(' ');
  if (!scopes.includes(scope)) {
    throw apiError('ERR00403', {
      moreInfo: `The scope ${scope} is needed.`,
      headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${scope}"` },
    });
  }
  return {
    caller: {
      clientId,
      subject: claims.sub ?? clientId,
      facilities: facilitiesOf(claims.facilities),
      scopes,
      grantId: typeof claims.grant_id === 'string' ? claims.grant_id : undefined,
      issuedAt: claims.iat,
    },
    kid,
    expiresAt: (claims.exp + clockToleranceSeconds) * 1000,
    binding: typeof jkt === 'string' ? { token, jkt } : undefined,
  };
}

async function verifySignature(
  token: string,
  { signingKeys, issuer, audience, now, invalidToken }: TokenVerification,
): Promise<{ readonly claims: JwtPayload; readonly kid: string | undefined }> {
  const header = headerOf(token);
  if (!header) throw invalidToken('The token is not a signed JWT.');
  const { alg, typ, crit } = header;
  const kid = typeof header.kid === 'string' ? header.kid : undefined;
  if (!tokenTypes.has(String(typ).toLowerCase())) throw invalidToken('The token is not an access token.');
  if (crit !== undefined) throw invalidToken('The token needs an unknown extension.');
  const key = await signingKeys.find(kid).catch((error: unknown) => {
    throw error instanceof NoSigningKeysError ? unavailable(error, retryAfterSeconds) : error;
  });
  if (!key) throw invalidToken('The token is signed with an unknown key.');
  if (key.alg !== undefined && key.alg !== alg)
    throw invalidToken('The token is signed with an algorithm that its key is not for.');
  try {
    const claims = jsonwebtoken.verify(token, key.key, {
      algorithms: ['ES256', 'RS256'],
      issuer: withAndWithoutSlash(issuer),
      audience: withAndWithoutSlash(audience),
      clockTolerance: clockToleranceSeconds,
      clockTimestamp: Math.floor(now().getTime() / 1000),
    }) as JwtPayload;
    return { claims, kid };
  } catch (error) {
    throw invalidToken(reasonOf(error as Error));
  }
}

/** Without a token, the challenge has no `error` (RFC 6750 section 3.1). */
function unauthorized(challenge: string, reason = ''): ApiError {
  const error = reason && `, error="invalid_token", error_description="${reason}"`;
  return apiError('ERR00401', { moreInfo: reason, headers: { 'WWW-Authenticate': challenge + error } });
}

function headerOf(token: string): Record<string, unknown> | undefined {
  try {
    const decoded = jsonwebtoken.decode(token, { complete: true });
    // In an unverified header, every member may have any type.
    return decoded ? { ...decoded.header } : undefined;
  } catch {
    return undefined;
  }
}

/** Operators configure addresses with or without a trailing slash. */
function withAndWithoutSlash(url: string): [string, string] {
  const base = url.replace(/\/$/, '');
  return [base, `${base}/`];
}

function facilitiesOf(claim: unknown): readonly string[] {
  return Array.isArray(claim) ? [...new Set(claim.filter((id) => typeof id === 'string'))] : [];
}

function reasonOf({ name, message }: Error): string {
  if (name === 'TokenExpiredError') return 'The token has expired.';
  if (name === 'NotBeforeError') return 'The token is not valid yet.';
  if (message.startsWith('jwt audience')) return 'The token is for another audience.';
  if (message.startsWith('jwt issuer')) return 'The token is from another issuer.';
  return 'The token is not valid.';
}
