// Defines our own settings of a client, which an import file sets and `client.metadata` stores (docs/import.md).
import type { FromSchema } from 'json-schema-to-ts';

export const clientSettingSchemas = {
  /** The lifetime of the client's access tokens in seconds. Default: ACCESS_TOKEN_TTL. */
  access_token_ttl: { type: 'integer', minimum: 60, maximum: 86_400 },
  /** With `fapi2`, the client must also follow the rules of the FAPI 2.0 Security Profile. */
  profile: { enum: ['fapi2'] },
} as const;

export type ClientSettings = FromSchema<{
  readonly type: 'object';
  readonly properties: typeof clientSettingSchemas;
  readonly additionalProperties: false;
}>;

export const clientSettingNames = ['access_token_ttl', 'profile'] as const satisfies (keyof ClientSettings)[];

export const clientSettingsOf = ({ access_token_ttl, profile }: Readonly<Record<string, unknown>>) =>
  ({ access_token_ttl, profile }) as ClientSettings;
