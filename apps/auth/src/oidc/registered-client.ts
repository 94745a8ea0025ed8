// Reads the registered scopes, redirect URIs and own metadata of a client from oidc-provider's client object.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { OwnMetadata } from './client-metadata.ts';
import { offlineAccess, splitScope } from './scopes.ts';

export type RegisteredClient = NonNullable<KoaContextWithOIDC['oidc']['client']>;

/** The library's types do not know the members that client-metadata.ts adds. */
export const ownMetadataOf = (client: RegisteredClient): OwnMetadata => client as unknown as OwnMetadata;

/** Every scope that the client may request. */
export const allowedScopes = (client: RegisteredClient): readonly string[] =>
  splitScope(ownMetadataOf(client).allowed_scope);

/**
 * Returns the requested scopes, without `offline_access` if that scope would have no effect: the client may request it,
 * but the client or the flow cannot have refresh tokens. A scope that the client may not request is not removed, so
 * that the scope rules reject it.
 */
export function effectiveScopes(
  client: RegisteredClient,
  requested: string | undefined,
  flowHasRefreshTokens = true,
): readonly string[] {
  const refreshes = flowHasRefreshTokens && client.grantTypeAllowed('refresh_token');
  const ignored = refreshes || !allowedScopes(client).includes(offlineAccess) ? undefined : offlineAccess;
  return splitScope(requested).filter((scope) => scope !== ignored);
}

/** The origins of the registered redirect URIs. URIs with a custom scheme have no origin. */
export function webOriginsOf(client: RegisteredClient): ReadonlySet<string> {
  const origins = (client.redirectUris ?? []).map((uri) => URL.parse(uri)?.origin);
  return new Set(origins.filter((origin): origin is string => origin !== undefined && origin !== 'null'));
}
