// Creates the errors 401 and 403 with their challenges (RFC 6750, RFC 9449 and RFC 9728).
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import { apiError } from '../errors.ts';
import type { Scheme } from './caller.ts';

export interface Challenge {
  /** The token's scheme. If the request has no token, the challenge names both schemes. */
  readonly scheme?: Scheme;
  /** Left out if the request has no token (RFC 6750 section 3.1). */
  readonly error?: 'invalid_token' | 'insufficient_scope' | 'invalid_dpop_proof' | 'insufficient_user_authentication';
  readonly reason?: string;
  /** Why the client may not do this, whatever the scope of its token. */
  readonly forbidden?: string;
  /** The scope that the token lacks. */
  readonly scope?: string;
  /** The sign-in that the user needs, with the maximum age `maxAge` in seconds (RFC 9470 section 3). */
  readonly acrValues?: string;
  readonly maxAge?: number;
}

export const resourceMetadataPath = '/.well-known/oauth-protected-resource';

export function tokenError(baseUrl: string, { scheme, error, reason = '', forbidden, scope, ...stepUp }: Challenge) {
  const signIn = { acr_values: stepUp.acrValues, max_age: stepUp.maxAge?.toString() };
  const bearer = challenge('Bearer', {
    realm: 'bay-booking',
    resource_metadata: baseUrl + resourceMetadataPath,
    error,
    error_description: error === 'invalid_token' || error === 'insufficient_user_authentication' ? reason : undefined,
    scope,
    ...signIn,
  });
  const dpop = challenge('DPoP', { error, scope, ...signIn, algs: dpopAlgorithms.join(' ') });
  const challenges = { Bearer: bearer, DPoP: dpop };
  return apiError(error === 'insufficient_scope' || forbidden ? 'ERR00403' : 'ERR00401', {
    ...(forbidden && { description: forbidden }),
    moreInfo: reason,
    headers: { 'WWW-Authenticate': scheme ? challenges[scheme] : `${bearer}, ${dpop}` },
  });
}

function challenge(scheme: Scheme, parameters: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return `${scheme} ${present.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
}
