// Creates the 429 for a user or address that is locked out. RFC 6749 has no error code for it.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

export function lockedOut(ctx: KoaContextWithOIDC, retryAfter: number): Error {
  ctx.set('Retry-After', String(retryAfter));
  return Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
    status: 429,
    statusCode: 429,
    error_description: 'too many failed sign-ins, try again later',
  });
}
