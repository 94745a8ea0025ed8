// Creates the error of a token request whose user or IP address is locked out after too many failed sign-ins.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/**
 * RFC 6749 defines no error for a locked-out user, so the response uses `invalid_grant`, as for a wrong password. The
 * status 429 tells the client to wait. `retryAfter` is in seconds.
 */
export function lockedOut(ctx: KoaContextWithOIDC, retryAfter: number): Error {
  ctx.set('Retry-After', String(retryAfter));
  return Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
    status: 429,
    statusCode: 429,
    error_description: 'too many failed sign-ins, try again later',
  });
}
