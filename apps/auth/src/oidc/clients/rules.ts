// Checks our own rules for clients, also those of high-security clients (docs/behaviour-auth.md, "High-security
// clients").
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isLoopback } from '@bay-booking/service/public-address';
import { type ClientState, usesSecret } from '../../clients/metadata.ts';
import { type ScopeTable, splitScope } from '../scopes.ts';
import { fapi2Settings, hasPrivateScheme, type ImportedClient, isPublic, redirectUrisOf } from './stored-client.ts';
import type { ClientMetadataError, ClientValidator } from './validation.ts';

/** Whether codes are sent to an app on a user's device. Anybody can read a secret of such an app (RFC 8252). */
const isInstalledApp = (metadata: ClientState['metadata']): boolean =>
  redirectUrisOf(metadata).some(
    (uri) => hasPrivateScheme(uri) || (metadata.application_type === 'native' && isLoopback(uri)),
  );

export const operatorScopes = (scope: string | undefined, { operate }: Pick<ScopeTable, 'operate'>) =>
  splitScope(scope).filter((one) => operate.includes(one));

/** Whether the client is a program that authenticates itself with a key. */
const isProgram = ({ accountId, kind, metadata }: ClientState): boolean =>
  accountId === null &&
  kind === 'standard' &&
  metadata.token_endpoint_auth_method === 'private_key_jwt' &&
  isDeepStrictEqual(metadata.grant_types, ['client_credentials']) &&
  isDeepStrictEqual(metadata.response_types, []);

const wrong = (isWrong: boolean, member: string, reason: string): readonly ClientMetadataError[] =>
  isWrong ? [{ member, reason }] : [];
const onlyPrograms = 'is only for clients with private_key_jwt and only the grant type client_credentials';
const onlySecret = 'a personal access token can only have a secret';

/** `imported` is the client as the file contains it. */
export function findClientErrors(
  imported: ImportedClient,
  client: ClientState,
  scopes: ScopeTable,
  { addressError, isDevelopment }: Pick<ClientValidator, 'addressError' | 'isDevelopment'>,
): readonly ClientMetadataError[] {
  const { metadata } = client;
  const unknown = splitScope(client.scope).filter((scope) => !scopes.known.includes(scope));
  const ofPrograms = isProgram(client) ? [] : operatorScopes(imported.scope, scopes);
  const isToken = client.accountId !== null;
  const hasSecret = imported.client_secret !== undefined;
  const authMethod = 'token_endpoint_auth_method';
  return [
    ...wrong(unknown.length > 0, 'scope', `${unknown.join(' ')} is not known`),
    ...wrong(ofPrograms.length > 0, 'scope', `${ofPrograms.join(' ')} ${onlyPrograms}`),
    ...wrong(hasSecret && isPublic(metadata), 'client_secret', 'a public client has none'),
    ...wrong(
      isInstalledApp(metadata) && (hasSecret || usesSecret(metadata)),
      'client_secret',
      'a native app cannot keep a secret',
    ),
    ...wrong(client.kind === 'personal-access-token' && !isToken, 'accountId', 'is missing'),
    ...['access', 'facilities', 'expiresAt'].flatMap((member) =>
      wrong(!isToken && imported[member] !== undefined, member, 'is only for a client with accountId'),
    ),
    ...wrong(metadata.sector_identifier_uri !== undefined, 'sector_identifier_uri', 'is not supported'),
    ...(metadata.profile === 'fapi2' ? findContradictions(imported, metadata) : []),
    ...(metadata.skip_consent === true ? findConsentErrors(client, isDevelopment) : []),
    // A personal access token is stored without these fields. Ignoring them would make it less secure than expected.
    ...metadataOfOtherClients.flatMap((member) =>
      wrong(isToken && (imported[member] ?? false) !== false, member, onlySecret),
    ),
    ...wrong(isToken && imported[authMethod] === 'private_key_jwt', authMethod, onlySecret),
    ...wrong(
      hasSecret && metadata[authMethod] === 'private_key_jwt',
      'client_secret',
      'a client with private_key_jwt has none',
    ),
    ...findKeyErrors(metadata.jwks),
    ...['jwks_uri', 'backchannel_logout_uri'].flatMap((member) => {
      const address = metadata[member];
      const reason = typeof address === 'string' ? addressError(address) : undefined;
      return reason === undefined ? [] : [{ member, reason }];
    }),
    ...wrong(
      metadata.backchannel_logout_session_required === true && metadata.backchannel_logout_uri === undefined,
      'backchannel_logout_session_required',
      'needs backchannel_logout_uri',
    ),
  ];
}

const fapi2GrantTypes: readonly unknown[] = ['authorization_code', 'refresh_token', 'client_credentials'];

/** The metadata that a personal access token cannot have. */
const metadataOfOtherClients: readonly string[] = [
  'profile',
  'jwks',
  'jwks_uri',
  'require_pushed_authorization_requests',
  'dpop_bound_access_tokens',
  'backchannel_logout_uri',
  'skip_consent',
];

/** If there is no consent page, only the program itself may be able to get the code (RFC 8252 section 8.6). */
function findConsentErrors({ metadata, pkce }: ClientState, isDevelopment: boolean): readonly ClientMetadataError[] {
  const notFor = (isWrong: boolean, whom: string) => wrong(isWrong, 'skip_consent', `is not for ${whom}`);
  const isOther = (type: unknown): boolean => type !== 'code';
  // In development, a web page may be on http://localhost.
  const isUnsafe = (uri: string): boolean =>
    isLoopback(uri) && !(isDevelopment && URL.parse(uri)?.hostname === 'localhost');
  return [
    ...notFor(metadata.profile === 'fapi2', 'the profile fapi2'),
    ...notFor(isPublic(metadata) && pkce !== 'required', 'a public client with optional PKCE'),
    ...notFor(isPublic(metadata) && listOf(metadata.response_types).some(isOther), 'the implicit flow'),
    ...notFor(
      metadata.application_type === 'native' || redirectUrisOf(metadata).some(hasPrivateScheme),
      'a native app or a custom scheme',
    ),
    ...notFor(isPublic(metadata) && redirectUrisOf(metadata).some(isUnsafe), 'a public client on a loopback address'),
  ];
}

function findContradictions(
  imported: ImportedClient,
  metadata: ClientState['metadata'],
): readonly ClientMetadataError[] {
  const needs = (isWrong: boolean, member: string, expected: string) =>
    wrong(isWrong, member, `the profile fapi2 needs ${expected}`);
  const hasOther = (member: string, allowed: (value: unknown) => boolean) => !listOf(metadata[member]).every(allowed);
  const isSafe = (uri: unknown) => typeof uri === 'string' && (/^https:/i.test(uri) || isLoopback(uri));
  return [
    ...Object.entries(fapi2Settings).flatMap(([member, value]) =>
      needs(metadata[member] !== value, member, String(value)),
    ),
    ...needs(imported.pkce === 'optional', 'pkce', 'required'),
    ...needs(
      hasOther('response_types', (type) => type === 'code'),
      'response_types',
      'code',
    ),
    ...needs(
      hasOther('grant_types', (type) => fapi2GrantTypes.includes(type)),
      'grant_types',
      fapi2GrantTypes.join(', '),
    ),
    ...needs(hasOther('redirect_uris', isSafe), 'redirect_uris', 'https addresses'),
  ];
}

/** oidc-provider would reject private and symmetric keys without giving a reason. */
function findKeyErrors(jwks: unknown): readonly ClientMetadataError[] {
  const keys = listOf((jwks as { keys?: unknown } | undefined)?.keys);
  const isSecret = (key: unknown) => typeof key === 'object' && key !== null && ('d' in key || 'k' in key);
  return [
    ...wrong(jwks !== undefined && keys.length === 0, 'jwks', 'contains no key'),
    ...keys.flatMap((key, i) =>
      isSecret(key)
        ? [{ member: `jwks/keys/${i}`, reason: 'contains a private or symmetric key' }]
        : wrong(!isPublicKey(key), `jwks/keys/${i}`, 'must be a public key (JWK)'),
    ),
  ];
}

function isPublicKey(key: unknown): boolean {
  try {
    createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
