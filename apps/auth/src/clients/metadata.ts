// Defines stored clients, and our own settings of a client, which an import file sets (docs/import.md).
import type { FromSchema } from 'json-schema-to-ts';

/** A personal access token belongs to a service account. */
export type ClientKind = 'standard' | 'driving-range' | 'personal-access-token';
export type PkcePolicy = 'required' | 'optional';

/** What a personal access token may do at the Bookings API. Each level includes the ones before. */
export const accessLevels = ['read', 'write', 'manage'] as const;
export type TokenAccess = (typeof accessLevels)[number];

export const usesSecret = ({ token_endpoint_auth_method: method }: Readonly<Record<string, unknown>>): boolean =>
  method !== 'none' && method !== 'private_key_jwt';

export interface StoredClient {
  readonly id: string;
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  /** OpenID Connect client metadata, and our own settings. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Space-separated. Empty for a personal access token, whose scope is fixed. */
  readonly scope: string;
  readonly accountId: string | null;
  /** Only used for a personal access token, like `facilityIds`. */
  readonly access: TokenAccess;
  /** The facilities that the token was created for. Null: all facilities of its account. */
  readonly facilityIds: readonly string[] | null;
  /** The SHA-256 of each valid secret. During a rotation there are two. */
  readonly secretHashes: readonly string[];
}

/** A client as a record stores it. */
export interface ClientState extends Omit<StoredClient, 'secretHashes'> {
  readonly name: string | null;
  readonly disabled: boolean;
  readonly expiresAt: string | null;
  readonly secrets: readonly { readonly sha256: string; readonly expiresAt: string | null }[];
}

export const clientSettingSchemas = {
  /** The lifetime of the client's access tokens in seconds. Default: ACCESS_TOKEN_TTL. */
  access_token_ttl: { type: 'integer', minimum: 60, maximum: 86_400 },
  /** `fapi2`: the client must also follow the rules of the FAPI 2.0 Security Profile. */
  profile: { enum: ['fapi2'] },
  /** For programs of the operator itself. */
  skip_consent: {
    type: 'boolean',
    description: 'Whether users are not asked for consent, because the program is the operator’s own.',
  },
} as const;

export type ClientSettings = FromSchema<{
  readonly type: 'object';
  readonly properties: typeof clientSettingSchemas;
  readonly additionalProperties: false;
}>;

export const clientSettingNames = Object.keys(clientSettingSchemas) as readonly (keyof ClientSettings)[];

export const clientSettingsOf = (metadata: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(clientSettingNames.map((name) => [name, metadata[name]])) as ClientSettings;
