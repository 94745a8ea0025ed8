// Creates the errors 401 and 403 with their challenges (RFC 6750, RFC 9449 and RFC 9728).
import type { ApiError } from '@bay-booking/common/errors';
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import { apiError } from '../errors.ts';
import type { Scheme } from './caller.ts';

export interface Challenge {
  /** The scheme of the token. Undefined without a token: the challenge then names both schemes. */
  readonly scheme?: Scheme;
  /** Left out without a token (RFC 6750 section 3.1). */
  readonly error?: 'invalid_token' | 'insufficient_scope' | 'invalid_dpop_proof';
  readonly reason?: string;
  /** The scope that the token lacks. */
  readonly scope?: string;
}

export const resourceMetadataPath = '/.well-known/oauth-protected-resource';

export function tokenError(baseUrl: string, { scheme, error, reason = '', scope }: Challenge): ApiError {
  const bearer = challenge('Bearer', {
    realm: 'bay-booking',
    resource_metadata: baseUrl + resourceMetadataPath,
    error,
    error_description: error === 'invalid_token' ? reason : undefined,
    scope,
  });
  const dpop = challenge('DPoP', { error, scope, algs: dpopAlgorithms.join(' ') });
  const challenges = { Bearer: bearer, DPoP: dpop };
  return apiError(error === 'insufficient_scope' ? 'ERR00403' : 'ERR00401', {
    moreInfo: reason,
    headers: { 'WWW-Authenticate': scheme ? challenges[scheme] : `${bearer}, ${dpop}` },
  });
}

function challenge(scheme: Scheme, parameters: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return `${scheme} ${present.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
}
