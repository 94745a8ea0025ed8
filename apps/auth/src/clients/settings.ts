// Defines our own settings of a client, which an import file sets (docs/import.md, "Clients").
//
// The schema of the import file and the metadata that oidc-provider reads are derived from `clientSettingSchemas`. The
// settings are stored in the column `client.metadata`, together with the OpenID Connect client metadata.
import type { FromSchema } from 'json-schema-to-ts';

export const clientSettingSchemas = {
  /** The lifetime of the client's access tokens in seconds. Default: ACCESS_TOKEN_TTL. */
  access_token_ttl: { type: 'integer', minimum: 60, maximum: 86_400 },
  /** With `fapi2`, the client must also follow the rules of the FAPI 2.0 Security Profile. */
  profile: { enum: ['fapi2'] },
} as const;

type Metadata = Readonly<Record<string, unknown>>;
type SettingName = keyof typeof clientSettingSchemas;

export type ClientSettings = FromSchema<{
  readonly type: 'object';
  readonly properties: typeof clientSettingSchemas;
  readonly additionalProperties: false;
}>;

export const clientSettingNames = Object.keys(clientSettingSchemas) as readonly SettingName[];

/** The settings that a personal access token can have. */
const personalAccessTokenSettings: readonly SettingName[] = ['access_token_ttl'];
/** The settings that a personal access token cannot have. */
export const otherClientSettings = clientSettingNames.filter((name) => !personalAccessTokenSettings.includes(name));

/** Returns all settings. Their values need no check, because the import has checked them. */
export const clientSettingsOf = (metadata: Metadata): ClientSettings => pick(metadata, clientSettingNames);

export const personalAccessTokenSettingsOf = (metadata: Metadata): ClientSettings =>
  pick(metadata, personalAccessTokenSettings);

/** Returns an object with a field for each name. The value of a setting that the client does not have is undefined. */
const pick = (metadata: Metadata, names: readonly SettingName[]): ClientSettings =>
  Object.fromEntries(names.map((name) => [name, metadata[name]]));
