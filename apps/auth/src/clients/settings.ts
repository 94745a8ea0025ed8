// Defines our own settings of a client, which an import file sets and `client.metadata` stores (docs/import.md).
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

const personalAccessTokenSettings: readonly SettingName[] = ['access_token_ttl'];
export const otherClientSettings = clientSettingNames.filter((name) => !personalAccessTokenSettings.includes(name));

export const clientSettingsOf = (metadata: Metadata): ClientSettings => pick(metadata, clientSettingNames);

export const personalAccessTokenSettingsOf = (metadata: Metadata): ClientSettings =>
  pick(metadata, personalAccessTokenSettings);

const pick = (metadata: Metadata, names: readonly SettingName[]): ClientSettings =>
  Object.fromEntries(names.map((name) => [name, metadata[name]]));
