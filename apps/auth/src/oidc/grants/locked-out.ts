// Sets Retry-After and creates the error for a token request whose user or IP address is locked out after too many
// failed sign-ins.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/**
 * RFC 6749 defines no error code for a lockout. The code is therefore `invalid_grant`, as for a wrong password, and the
 * status is 429. `retryAfter` is the number of seconds until the lockout ends.
 */
export function lockedOut(ctx: KoaContextWithOIDC, retryAfter: number): Error {
  ctx.set('Retry-After', String(retryAfter));
  // `detail` is only logged. oidc-provider sets both `status` and `statusCode` of its errors, so both are replaced.
  return Object.assign(new errors.InvalidGrant({ detail: 'locked out' }), {
    status: 429,
    statusCode: 429,
    error_description: 'too many failed sign-ins, try again later',
  });
}
