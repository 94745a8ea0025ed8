// Verifies a request's access token, which must be a JWT (RFC 9068), and decides whether its scopes and the sign-in of
// its user allow the request.
//
// A token that is bound to a key is sent with the scheme DPoP and a proof (dpop.ts). Any other token is sent with the
// scheme Bearer (RFC 6750).
import type { ApiError } from '@bay-booking/common/errors';
import type { Access, Scopes } from '@bay-booking/common/scopes';
import jsonwebtoken, { type JwtPayload } from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { unavailable } from '../errors.ts';
import type { Caller, Scheme } from './caller.ts';
import { tokenError } from './challenges.ts';
import { type AuthorizedRequest, checkProof, type DpopOptions } from './dpop.ts';
import type { Revocations } from './revocations.ts';
import { type IssuerKeys, NoSigningKeysError, withAndWithoutSlash } from './signing-keys.ts';

/** @throws {ApiError} 401; 503 if signing keys, the list of revocations or the store of used proofs are missing */
export type AuthorizeRequest = (request: AuthorizedRequest) => Promise<Caller>;

export interface RequestAuthorizerOptions extends DpopOptions {
  readonly signingKeys: Pick<IssuerKeys, 'find' | 'has'>;
  readonly revocations: Pick<Revocations, 'version' | 'isRevoked'>;
  readonly issuer: string;
  readonly audience: string;
}

interface VerifiedToken {
  readonly caller: Caller;
  readonly kid: string | undefined;
  /** In milliseconds since 1970, with the clock tolerance. */
  readonly expiresAt: number;
  /** Undefined for a Bearer token. */
  readonly binding: { readonly token: string; readonly jkt: string } | undefined;
  /** The version of the list of revocations that was checked for this token. */
  checkedVersion: number | undefined;
}

const clockToleranceSeconds = 10;
const retryAfterSeconds = 2;
const maxTokenLength = 32_768;
const tokenTypes: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt']);
/** RFC 6750 section 2.1. Captures the token. */
const tokenHeader = /^(?:Bearer|DPoP) +([A-Za-z0-9._~+/-]+=*) *$/i;

export function createRequestAuthorizer(options: RequestAuthorizerOptions): AuthorizeRequest {
  const { signingKeys, revocations, baseUrl, now } = options;
  // The key is the Authorization header. Verifying an ES256 signature takes 100 µs.
  const verifiedTokens = new LRUCache<string, VerifiedToken>({
    max: 10_000,
    maxSize: 20_000_000,
    sizeCalculation: (_token, authorization) => authorization.length,
  });

  const findVerified = (authorization: string): VerifiedToken | undefined => {
    const token = verifiedTokens.get(authorization);
    // A token is no longer valid after its signing key was removed from the JWKS.
    return token && token.expiresAt > now().getTime() && signingKeys.has(token.kid) ? token : undefined;
  };

  const verifyHeader = async (authorization: string): Promise<VerifiedToken> => {
    const schemeName = /^(?:Bearer|DPoP)\b/i.exec(authorization)?.[0].toLowerCase();
    if (schemeName === undefined) throw tokenError(baseUrl, {});
    const scheme: Scheme = schemeName === 'dpop' ? 'DPoP' : 'Bearer';
    const invalidToken = (reason: string): ApiError => tokenError(baseUrl, { scheme, error: 'invalid_token', reason });
    const token = tokenHeader.exec(authorization)?.[1];
    if (token === undefined || token.length > maxTokenLength)
      throw invalidToken('The Authorization header contains no token.');
    const verified = await verifyToken(token, { ...options, scheme, invalidToken });
    verifiedTokens.set(authorization, verified);
    return verified;
  };

  return async (request) => {
    const { authorization = '' } = request.headers;
    const verified = findVerified(authorization) ?? (await verifyHeader(authorization));
    const { caller, binding } = verified;
    const version = revocations.version();
    if (version === undefined)
      throw unavailable(new Error('the list of revocations has not been read yet'), retryAfterSeconds);
    if (verified.checkedVersion !== version) {
      if (revocations.isRevoked(caller)) throw revokedError(baseUrl, caller);
      verified.checkedVersion = version;
    }
    if (binding) await checkProof(request, binding, options);
    return caller;
  };
}

export const revokedError = (baseUrl: string, { scheme }: Caller): ApiError =>
  tokenError(baseUrl, { scheme, error: 'invalid_token', reason: 'The token was revoked.' });

interface TokenVerification extends RequestAuthorizerOptions {
  readonly scheme: Scheme;
  readonly invalidToken: (reason: string) => ApiError;
}

async function verifyToken(token: string, options: TokenVerification): Promise<VerifiedToken> {
  const { baseUrl, scheme, invalidToken } = options;
  const { claims, kid } = await verifySignature(token, options);
  if (typeof claims.exp !== 'number') throw invalidToken('The token has no expiry.');
  const jkt: unknown = claims.cnf?.jkt;
  if (claims.cnf !== undefined && typeof jkt !== 'string') throw invalidToken('The token is bound in an unknown way.');
  if ((jkt !== undefined) !== (scheme === 'DPoP')) {
    const reason = 'A token that is bound to a key, and no other, must be sent as DPoP.';
    throw tokenError(baseUrl, { scheme: 'DPoP', error: 'invalid_token', reason });
  }
  // Holds, webhooks and Idempotency-Keys belong to a client, so every caller needs a client id.
  const clientId = typeof claims.client_id === 'string' && claims.client_id !== '' ? claims.client_id : claims.sub;
  if (!clientId) throw invalidToken('The token names no client.');
  return {
    caller: {
      clientId,
      subject: claims.sub ?? clientId,
      facilities: facilitiesOf(claims.facilities),
      scopes: String(claims.scope ?? '')
        .split(' ')
        .filter(Boolean),
      scheme,
      signIn: signInOf(claims),
      tokenId: textOf(claims.jti),
      grantId: textOf(claims.grant_id),
      issuedAt: typeof claims.iat === 'number' ? claims.iat : 0,
      expiresAt: claims.exp,
    },
    kid,
    expiresAt: (claims.exp + clockToleranceSeconds) * 1000,
    binding: typeof jkt === 'string' ? { token, jkt } : undefined,
    checkedVersion: undefined,
  };
}

/** Tokens of programs have no grant and no sign-in. */
function signInOf({ amr, auth_time: time, grant_id: grantId }: JwtPayload): Caller['signIn'] {
  if (amr === undefined && time === undefined && grantId === undefined) return undefined;
  return { methods: Array.isArray(amr) ? amr : [], time: typeof time === 'number' ? time : 0 };
}

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);

async function verifySignature(token: string, { signingKeys, issuer, audience, now, invalidToken }: TokenVerification) {
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

function headerOf(token: string): Record<string, unknown> | undefined {
  try {
    const decoded = jsonwebtoken.decode(token, { complete: true });
    // In an unverified header, every member may have any type.
    return decoded ? { ...decoded.header } : undefined;
  } catch {
    return undefined;
  }
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

type ScopeSets = readonly (readonly string[])[];

/** Returns sets of scopes, the usual set first. A token needs one complete set. Every scope allows reading. */
export function sufficientScopes(scopes: Scopes, access: Access): ScopeSets {
  if (access === 'read') return Object.values(scopes).map((scope) => [scope]);
  return [access === 'erase' ? [scopes.write, scopes.schedule] : [scopes[access]]];
}

/** @throws {ApiError} 403 if the token has none of the sets */
export function checkScope(caller: Caller, sufficient: ScopeSets, baseUrl: string): void {
  const missing = sufficient.map((set) => set.filter((scope) => !caller.scopes.includes(scope)));
  if (missing.some((ofSet) => ofSet.length === 0)) return;
  const scope = missing[0]?.join(' ') ?? '';
  throw tokenError(baseUrl, {
    scheme: caller.scheme,
    error: 'insufficient_scope',
    reason: `The token lacks the scope ${missing[0]?.join(' and ')}.`,
    scope,
  });
}

const maxAgeSeconds = 3600;
const protectedPath =
  /^\/api\/(?:booking-locations\/[^/]+\/opening-hours|booking-bays|booking-closures|booking-erasures)(?:\/|$)/;

/** Tokens of programs are exempt. `path` is the endpoint's template. @throws {ApiError} 401 */
export function checkStepUp(
  { signIn, scheme }: Caller,
  { method, path }: { readonly method: string; readonly path: string },
  { baseUrl, now }: { readonly baseUrl: string; readonly now: Date },
): void {
  if (!signIn || method === 'GET' || !protectedPath.test(path)) return;
  const { methods, time } = signIn;
  const age = now.getTime() / 1000 - time;
  if (!methods.includes('mfa')) throw stepUpError('The user must sign in with a second factor.');
  if (age > maxAgeSeconds) throw stepUpError('The user must sign in again with a second factor.');

  function stepUpError(reason: string): ApiError {
    return tokenError(baseUrl, {
      scheme,
      error: 'insufficient_user_authentication',
      reason,
      acrValues: '2',
      maxAge: maxAgeSeconds,
    });
  }
}
