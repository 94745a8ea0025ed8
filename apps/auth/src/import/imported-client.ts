// Converts a client of an import file to the form in which it is stored, and checks our own rules for clients.
import type { StoredClient } from '../clients/metadata.ts';
import { personalAccessTokenSettingsOf } from '../clients/settings.ts';
import type { ClientValidator } from '../oidc/clients/validation.ts';
import { type ScopeTable, splitScope } from '../oidc/scopes.ts';
import { type ImportedClient, importSchema } from './document.ts';
import { withProfileSettings } from './high-security.ts';

/** The inherited field `secretHashes` is empty, because the import does not read the stored secrets. */
export interface ClientToStore extends StoredClient {
  readonly name: string | null;
  /** The secret in the import file. If the file contains none, a secret that is already stored remains valid. */
  readonly secret: string | undefined;
}

/**
 * If the database contains a secret of this client (`hasStoredSecret`), the client is confidential, even if the file
 * contains no secret.
 */
export function toStoredClient(imported: ImportedClient, hasStoredSecret: boolean): ClientToStore {
  const { client_id: id, client_secret: secret, scope = '', kind, pkce, accountId, name, ...metadata } = imported;
  // A client with an account is a personal access token.
  if (accountId !== undefined) {
    const label = name ?? (typeof metadata.client_name === 'string' ? metadata.client_name : null);
    return {
      id,
      kind: 'personal-access-token',
      pkce: 'required',
      metadata: {
        ...(label !== null && { client_name: label }),
        ...personalAccessTokenSettingsOf(imported),
      },
      // Every personal access token may have the scope for bookings, so no scope is stored (oidc/client-metadata.ts).
      scope: '',
      accountId,
      secretHashes: [],
      name: label,
      secret,
    };
  }
  const completed = withDefaults(withProfileSettings(metadata), {
    isConfidential: secret !== undefined || hasStoredSecret,
  });
  return {
    id,
    kind: kind ?? 'standard',
    pkce: pkce ?? (isPublic(completed) || completed.profile !== undefined ? 'required' : 'optional'),
    metadata: completed,
    scope: splitScope(scope).join(' '),
    accountId: null,
    secretHashes: [],
    name: name ?? null,
    secret,
  };
}

type Metadata = Readonly<Record<string, unknown>>;

const isPublic = (metadata: Metadata): boolean => metadata.token_endpoint_auth_method === 'none';

/**
 * Adds our default values, which differ from the default values of OpenID Connect:
 * - A client without a secret is public.
 * - A client with a redirect URI that has a custom scheme is a native app.
 * - A client without redirect URIs has no response types.
 */
function withDefaults(metadata: Metadata, { isConfidential }: { isConfidential: boolean }): Metadata {
  const uris = Array.isArray(metadata.redirect_uris) ? metadata.redirect_uris : [];
  const isNative = uris.some((uri) => typeof uri === 'string' && !/^https?:/i.test(uri));
  const hasNoUser = uris.length === 0 && metadata.response_types === undefined;
  return {
    ...(!isConfidential && { token_endpoint_auth_method: 'none' }),
    ...(isNative && { application_type: 'native' }),
    ...(hasNoUser && { redirect_uris: [], response_types: [] }),
    // The values in the file take precedence.
    ...metadata,
  };
}

/** The fields that the schema of import files defines. All other fields must be OpenID Connect client metadata. */
const schemaFields = Object.keys(importSchema.properties.clients.items.properties);

/**
 * Returns an error for each field that is unknown: neither in `schemaFields`, nor OpenID Connect metadata. If misspelt
 * fields were ignored, a client could get the wrong rights. For example, a personal access token with the field
 * `account_id` instead of `accountId` would become an ordinary client.
 */
export function findUnknownFields(imported: ImportedClient, path: string, validator: ClientValidator): string[] {
  const metadata = Object.keys(imported).filter((field) => !schemaFields.includes(field));
  return validator.findUnknown(metadata).map((field) => `${path}/${field}: is not known`);
}

/** Checks our own rules for clients. oidc/client-validation.ts checks the rules of oidc-provider for clients. */
export function findClientErrors(client: ClientToStore, path: string, scopes: ScopeTable): string[] {
  const errors: string[] = [];
  const unknown = splitScope(client.scope).filter((scope) => !scopes.all.includes(scope));
  if (unknown.length > 0) errors.push(`${path}/scope: ${unknown.join(' ')} is not known`);
  if (isPublic(client.metadata) && client.secret !== undefined) {
    errors.push(`${path}/client_secret: a public client has none`);
  }
  if (client.kind === 'personal-access-token' && client.accountId === null) {
    errors.push(`${path}/accountId: is missing`);
  }
  if (client.metadata.sector_identifier_uri !== undefined) {
    errors.push(`${path}/sector_identifier_uri: is not supported`);
  }
  return errors;
}
