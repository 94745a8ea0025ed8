// What did we register about this client? Our own metadata and the few of the standard, read off oidc-provider's client object.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { OwnMetadata } from './client-metadata.ts';
import { offlineAccess, splitScope } from './scopes.ts';

export type RegisteredClient = NonNullable<KoaContextWithOIDC['oidc']['client']>;

export const ownMetadataOf = (client: RegisteredClient): OwnMetadata => client as unknown as OwnMetadata;

export const allowedScopes = (client: RegisteredClient): readonly string[] =>
  splitScope(ownMetadataOf(client).allowed_scope);

/** Scopes asked for, without an `offline_access` that the client may have but that it, or this flow, has no refresh tokens for. */
export function effectiveScopes(
  client: RegisteredClient,
  requested: string | undefined,
  flowRefreshes = true,
): readonly string[] {
  const refreshes = flowRefreshes && client.grantTypeAllowed('refresh_token');
  const ignored = refreshes || !allowedScopes(client).includes(offlineAccess) ? undefined : offlineAccess;
  return splitScope(requested).filter((scope) => scope !== ignored);
}

/** Origins of the pages that the client's registered redirect URIs belong to; custom schemes have none. */
export function webOriginsOf(client: RegisteredClient): ReadonlySet<string> {
  const origins = (client.redirectUris ?? []).map((uri) => URL.parse(uri)?.origin);
  return new Set(origins.filter((origin): origin is string => origin !== undefined && origin !== 'null'));
}
