// Refuses token requests of users who are locked out, or who must sign in on our pages with a second factor.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import type { FactorStore } from '../../factors/store.ts';
import { orUnavailable } from '../unavailable.ts';

/** @throws {errors.InvalidGrant} if the account has a second factor, which a token request cannot contain */
export async function refuseMissingFactor(
  { factors, audit }: { factors: FactorStore; audit: Audit },
  accountId: string,
): Promise<void> {
  if (!(await orUnavailable(() => factors.hasSecondFactor(accountId)))) return;
  audit.record({ kind: 'sign-in.refused', accountId, detail: { reason: 'second factor required' } });
  throw Object.assign(new errors.InvalidGrant({ detail: 'second factor required' }), {
    error_description: 'a second factor is required',
  });
}

/** RFC 6749 has no error code for a lockout. */
export function lockedOut(ctx: KoaContextWithOIDC, retryAfter: number): Error {
  ctx.set('Retry-After', String(retryAfter));
  return Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
    status: 429,
    statusCode: 429,
    error_description: 'too many failed sign-ins, try again later',
  });
}
