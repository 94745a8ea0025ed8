// Decides which scopes allow a request.
import type { Access } from '@bay-booking/common/endpoint';
import type { Caller } from './caller.ts';
import { tokenError } from './challenges.ts';

/** The scope that each kind of access needs. */
export type Scopes = Readonly<Record<Access, string>>;

export const scopesOf = (scopeBase: string): Scopes => ({
  read: `${scopeBase}/golf/bookings.read`,
  write: `${scopeBase}/golf/bookings`,
  schedule: `${scopeBase}/golf/schedule`,
});

/** Returns the scopes of which a token needs one. Every scope allows reading. */
export const sufficientScopes = (scopes: Scopes, access: Access): readonly string[] =>
  access === 'read' ? Object.values(scopes) : [scopes[access]];

/** @throws {ApiError} 403 */
export function checkScope(caller: Caller, access: Access, scopes: Scopes, baseUrl: string): void {
  if (sufficientScopes(scopes, access).some((scope) => caller.scopes.includes(scope))) return;
  const scope = scopes[access];
  throw tokenError(baseUrl, {
    scheme: caller.scheme,
    error: 'insufficient_scope',
    reason: `The scope ${scope} is needed.`,
    scope,
  });
}
