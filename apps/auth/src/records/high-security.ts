// Checks the optional security features of imported clients (docs/behaviour-auth.md, "High-security clients").
import { isLoopback } from '@bay-booking/service/public-address';
import type { ClientMetadataError, ClientValidator } from '../oidc/clients/validation.ts';
import type { ClientToStore, ImportedClient } from './imported-client.ts';

type Metadata = Readonly<Record<string, unknown>>;

/** The metadata that the profile `fapi2` requires (FAPI 2.0 Security Profile sections 5.3.2.1 and 5.4.1). */
const fapi2Settings: Metadata = {
  token_endpoint_auth_method: 'private_key_jwt',
  require_pushed_authorization_requests: true,
  dpop_bound_access_tokens: true,
  id_token_signed_response_alg: 'ES256',
};
const fapi2ResponseTypes: readonly unknown[] = ['code'];
const fapi2GrantTypes: readonly unknown[] = ['authorization_code', 'refresh_token', 'client_credentials'];

/** The metadata that a personal access token cannot have. */
const metadataOfOtherClients: readonly string[] = [
  'profile',
  'jwks',
  'jwks_uri',
  'require_pushed_authorization_requests',
  'dpop_bound_access_tokens',
  'backchannel_logout_uri',
];

/** Adds the settings that the profile requires. `findHighSecurityErrors` reports those that the file contradicts. */
export const withProfileSettings = (metadata: Metadata): Metadata =>
  metadata.profile === 'fapi2' ? { ...fapi2Settings, ...metadata } : metadata;

/** `imported` is the client as the file contains it. */
export function findHighSecurityErrors(
  imported: ImportedClient,
  { metadata }: ClientToStore,
  { addressError }: Pick<ClientValidator, 'addressError'>,
): ClientMetadataError[] {
  const errors = metadata.profile === 'fapi2' ? findContradictions(imported, metadata) : [];
  if (imported.accountId !== undefined) {
    // A personal access token is stored without these fields. Ignoring them would make it less secure than expected.
    const ignored = metadataOfOtherClients.filter(
      (field) => imported[field] !== undefined && imported[field] !== false,
    );
    if (imported.token_endpoint_auth_method === 'private_key_jwt') ignored.push('token_endpoint_auth_method');
    errors.push(...ignored.map((member) => ({ member, reason: 'a personal access token can only have a secret' })));
  }
  if (metadata.token_endpoint_auth_method === 'private_key_jwt' && imported.client_secret !== undefined) {
    errors.push({ member: 'client_secret', reason: 'a client with private_key_jwt has none' });
  }
  errors.push(...findKeyErrors(metadata.jwks));
  for (const member of ['jwks_uri', 'backchannel_logout_uri']) {
    const address = metadata[member];
    const reason = typeof address === 'string' ? addressError(address) : undefined;
    if (reason !== undefined) errors.push({ member, reason });
  }
  if (metadata.backchannel_logout_session_required === true && metadata.backchannel_logout_uri === undefined) {
    errors.push({ member: 'backchannel_logout_session_required', reason: 'needs backchannel_logout_uri' });
  }
  return errors;
}

function findContradictions(imported: ImportedClient, metadata: Metadata): ClientMetadataError[] {
  const contradiction = (member: string, expected: string) => ({
    member,
    reason: `the profile fapi2 needs ${expected}`,
  });
  const errors = Object.entries(fapi2Settings)
    .filter(([field, value]) => metadata[field] !== value)
    .map(([field, value]) => contradiction(field, String(value)));
  if (imported.pkce === 'optional') errors.push(contradiction('pkce', 'required'));
  if (!listOf(metadata.response_types).every((type) => fapi2ResponseTypes.includes(type))) {
    errors.push(contradiction('response_types', 'code'));
  }
  if (!listOf(metadata.grant_types).every((type) => fapi2GrantTypes.includes(type))) {
    errors.push(contradiction('grant_types', fapi2GrantTypes.join(', ')));
  }
  const isSafe = (uri: unknown) => typeof uri === 'string' && (/^https:/i.test(uri) || isLoopback(uri));
  if (!listOf(metadata.redirect_uris).every(isSafe)) errors.push(contradiction('redirect_uris', 'https addresses'));
  return errors;
}

/** oidc-provider would reject private and symmetric keys without giving a reason. */
function findKeyErrors(jwks: unknown): ClientMetadataError[] {
  const keys = listOf((jwks as { keys?: unknown } | undefined)?.keys);
  if (jwks !== undefined && keys.length === 0) return [{ member: 'jwks', reason: 'contains no key' }];
  return keys.flatMap((key, index) =>
    typeof key === 'object' && key !== null && ('d' in key || 'k' in key)
      ? [{ member: `jwks/keys/${index}`, reason: 'contains a private or symmetric key' }]
      : [],
  );
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
