// Decides which scopes and which sign-in allow a request.
import type { ApiError } from '@bay-booking/common/errors';
import type { Access, Scopes } from '@bay-booking/common/scopes';
import type { Caller } from './caller.ts';
import { tokenError } from './challenges.ts';

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
const protectedPath = /^\/api\/(?:booking-locations\/[^/]+\/opening-hours|booking-bays|booking-closures|booking-erasures)(?:\/|$)/;

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
