// May this request come in, and for which facilities? An RFC 9068 access token in the Authorization header, and nowhere else, is
// verified with the authorization server's keys; refusals are RFC 6750. Contract sections 6 and 7.
import { createHash } from 'node:crypto';
import type { ApiError } from '@bay-booking/common/errors';
import jsonwebtoken, { type JwtPayload } from 'jsonwebtoken';
import { apiError, unavailable } from '../errors.ts';
import type { Caller } from './caller.ts';
import { type JwksCache, NoSigningKeysError } from './jwks-cache.ts';

/** At once for a token that was verified before; else a promise. */
export type Authorize = (authorization: string | undefined) => Caller | Promise<Caller>;

export interface AccessTokenVerifierOptions {
  readonly jwksCache: JwksCache;
  readonly issuer: string;
  readonly audience: string;
  readonly scope: string;
  readonly resourceMetadataUrl: string;
  readonly now: () => Date;
}

interface Verified {
  /** Undefined where the key is a digest of it. */
  readonly authorization: string | undefined;
  readonly caller: Caller;
  readonly kid: string | undefined;
  readonly notAfter: number;
}

const clockToleranceSeconds = 10;
const rememberedAtMost = 10_000;
/** Longer headers are remembered by their digest, which costs more time and less memory. */
const keyAtMost = 2_048;
const tokenAtMost = 32_768;
const tokenTypes = new Set(['at+jwt', 'application/at+jwt']);
const form = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

export function createAccessTokenVerifier(options: AccessTokenVerifierOptions): Authorize {
  const { jwksCache, issuer, audience, scope, resourceMetadataUrl, now } = options;
  const challenge = `Bearer realm="bay-booking", resource_metadata="${resourceMetadataUrl}"`;
  // Verifying ES256 costs forty times a look-up. An entry is good while its key is published and its token lives.
  const remembered = new Map<string, Verified>();

  const refuse = (reason?: string): ApiError =>
    apiError('ERR00401', {
      moreInfo: reason ?? '',
      headers: {
        'WWW-Authenticate': reason ? `${challenge}, error="invalid_token", error_description="${reason}"` : challenge,
      },
    });

  const verify = async (token: string): Promise<Omit<Verified, 'authorization'>> => {
    const header = headerOf(token);
    if (!header) throw refuse('The token is no signed JWT.');
    const { kid, alg, typ, crit } = header;
    if (!tokenTypes.has(String(typ).toLowerCase())) throw refuse('The token is no access token.');
    if (crit !== undefined) throw refuse('The token asks for an extension that is not known.');
    const key = await jwksCache.find(typeof kid === 'string' ? kid : undefined).catch((error: unknown) => {
      throw error instanceof NoSigningKeysError ? unavailable(error, 2) : error;
    });
    if (!key) throw refuse('The token is signed with a key that is not known.');
    if (key.alg !== undefined && key.alg !== alg)
      throw refuse('The token is signed with another algorithm than its key is for.');
    let claims: JwtPayload;
    try {
      claims = jsonwebtoken.verify(token, key.key, {
        algorithms: ['ES256', 'RS256'],
        issuer: [issuer, `${issuer}/`],
        audience: [audience, audience.endsWith('/') ? audience.slice(0, -1) : `${audience}/`],
        clockTolerance: clockToleranceSeconds,
        clockTimestamp: Math.floor(now().getTime() / 1000),
      }) as JwtPayload;
    } catch (error) {
      throw refuse(reasonOf(error as Error));
    }
    if (typeof claims.exp !== 'number') throw refuse('The token has no expiry.');
    // RFC 9449 section 7.2: a token bound to a key is not to be taken from whoever merely holds it.
    if (claims.cnf !== undefined)
      throw refuse('The token is bound to a key and must not be sent as a plain Bearer token.');
    const clientId = typeof claims.client_id === 'string' && claims.client_id !== '' ? claims.client_id : claims.sub;
    if (!clientId) throw refuse('The token names no client.');
    if (
      !String(claims.scope ?? '')
        .split(' ')
        .includes(scope)
    ) {
      throw apiError('ERR00403', {
        moreInfo: `The scope ${scope} is needed.`,
        headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${scope}"` },
      });
    }
    return {
      caller: { clientId, facilities: facilitiesOf(claims.facilities) },
      kid: typeof kid === 'string' ? kid : undefined,
      notAfter: (claims.exp + clockToleranceSeconds) * 1000,
    };
  };

  const verifyAndRemember = async (authorization: string | undefined): Promise<Caller> => {
    if (authorization === undefined || !/^Bearer\b/i.test(authorization)) throw refuse();
    const token = form.exec(authorization)?.[1];
    if (token === undefined || token.length > tokenAtMost) throw refuse('The Authorization header holds no token.');
    const verified = await verify(token);
    const oldest = remembered.size >= rememberedAtMost ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
    const short = authorization.length <= keyAtMost;
    remembered.set(keyOf(authorization), { ...verified, authorization: short ? authorization : undefined });
    return verified.caller;
  };

  return (authorization) => {
    if (authorization !== undefined) {
      const key = keyOf(authorization);
      const known = remembered.get(key);
      if (known && (known.authorization ?? authorization) === authorization) {
        if (known.notAfter > now().getTime() && jwksCache.holds(known.kid)) return known.caller;
        remembered.delete(key);
      }
    }
    return verifyAndRemember(authorization);
  };
}

/** The end of the signature tells tokens apart, and is looked up faster than all of it. */
function keyOf(authorization: string): string {
  return authorization.length <= keyAtMost
    ? authorization.slice(-32)
    : createHash('sha256').update(authorization).digest('base64');
}

function headerOf(token: string): Record<string, unknown> | undefined {
  try {
    const header: unknown = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
    return typeof header === 'object' && header !== null ? (header as Record<string, unknown>) : undefined;
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
