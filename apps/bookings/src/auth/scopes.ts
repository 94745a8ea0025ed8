// Decides which scopes and which sign-in allow a request.
import type { Access } from '@bay-booking/common/endpoint';
import type { ApiError } from '@bay-booking/common/errors';
import type { Caller } from './caller.ts';
import { tokenError } from './challenges.ts';

export type Scopes = Readonly<Record<'read' | 'write' | 'schedule', string>>;

export const scopesOf = (scopeBase: string): Scopes => ({
  read: `${scopeBase}/golf/bookings.read`,
  write: `${scopeBase}/golf/bookings`,
  schedule: `${scopeBase}/golf/schedule`,
});

/** Returns sets of scopes, the usual set first. A token needs one complete set. Every scope allows reading. */
export function sufficientScopes(scopes: Scopes, access: Access): readonly (readonly string[])[] {
  if (access === 'read') return Object.values(scopes).map((scope) => [scope]);
  return [access === 'erase' ? [scopes.write, scopes.schedule] : [scopes[access]]];
}

/** @throws {ApiError} 403 */
export function checkScope(caller: Caller, access: Access, scopes: Scopes, baseUrl: string): void {
  const missing = sufficientScopes(scopes, access).map((set) => set.filter((scope) => !caller.scopes.includes(scope)));
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
