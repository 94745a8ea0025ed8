// Reads the scopes, the redirect URIs and our own metadata of a client from oidc-provider's client object.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { findScopeError, offlineAccess, type ScopeTable, splitScope } from '../scopes.ts';
import type { OwnMetadata } from './metadata.ts';

export type RegisteredClient = NonNullable<KoaContextWithOIDC['oidc']['client']>;

export const ownMetadataOf = (client: RegisteredClient): OwnMetadata => client as unknown as OwnMetadata;

export const allowedScopes = (client: RegisteredClient): readonly string[] =>
  splitScope(ownMetadataOf(client).allowed_scope);

/** Removes `offline_access` if there are no refresh tokens, but lets the scope rules reject it if it is not allowed. */
export function effectiveScopes(
  client: RegisteredClient,
  requested: string | undefined,
  flowHasRefreshTokens = true,
): readonly string[] {
  const canRefresh = flowHasRefreshTokens && client.grantTypeAllowed('refresh_token');
  const removesOfflineAccess = !canRefresh && allowedScopes(client).includes(offlineAccess);
  return splitScope(requested).filter((scope) => !(removesOfflineAccess && scope === offlineAccess));
}

/** @throws {errors.InvalidScope} if the client may not request one of the scopes, or may not request them together */
export function checkRequestedScopes(
  scopes: ScopeTable,
  client: RegisteredClient,
  request: { requested: readonly string[]; issuesIdToken: boolean; namesAllowed?: boolean },
): void {
  const error = findScopeError(scopes, { ...request, allowed: allowedScopes(client) });
  if (error) throw new errors.InvalidScope(error.description, error.scope);
}

/** Where a user can begin again. Undefined if the client is not a website. */
export function homePageOf(client: RegisteredClient): string | undefined {
  return client.clientUri ?? [...webOriginsOf(client)][0];
}

/** URIs with a custom scheme have no origin. */
export function webOriginsOf(client: RegisteredClient): ReadonlySet<string> {
  const origins = (client.redirectUris ?? []).map((uri) => URL.parse(uri)?.origin);
  return new Set(origins.filter((origin): origin is string => origin !== undefined && origin !== 'null'));
}
