// Requires a recent sign-in with two factors for changes of the schedule and for erasures (RFC 9470; STEP_UP=schedule).
import type { ApiError } from '@bay-booking/common/errors';
import type { Caller } from './caller.ts';
import { tokenError } from './challenges.ts';

const maxAgeSeconds = 3600;
const protectedPath = /^\/api\/(?:booking-locations\/[^/]+\/opening-hours|booking-closures|booking-erasures)(?:\/|$)/;

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
