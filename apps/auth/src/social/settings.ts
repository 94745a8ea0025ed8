// Parses and validates the content of SOCIAL_PROVIDERS_FILE, which contains the social providers and their settings.
import { isObject } from '@bay-booking/common/validation';
import { isLoopback } from '@bay-booking/service/public-address';
import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import { presets } from './presets.ts';
import { type CommonSettings, nonEmptyText, type ProviderType, type SocialProvider } from './provider.ts';
import { oauth2 } from './types/oauth2.ts';
import { oidc } from './types/oidc.ts';

/**
 * The key is the value of the setting `type`. The record can contain types with different settings (`never`), because
 * the schema of a type validates the settings before its `createProvider` gets them.
 */
const providerTypes: Readonly<Record<string, ProviderType<never>>> = { oidc, oauth2 };

export interface ProviderSettings extends CommonSettings {
  readonly type: string;
}

export type SocialProviderSettings = ReadonlyMap<string, ProviderSettings>;
export type SocialProviders = ReadonlyMap<string, SocialProvider>;

/** Returns the name of a provider as users see it, or `name` if the provider was removed from the settings. */
export const titleOfProvider = (providers: SocialProviders, name: string): string => providers.get(name)?.title ?? name;

export function createSocialProviders(settings: SocialProviderSettings): SocialProviders {
  const create = ({ type, ...rest }: ProviderSettings): SocialProvider =>
    (providerTypes[type] as ProviderType<never>).createProvider(rest as never);
  return new Map([...settings].map(([name, provider]) => [name, create(provider)]));
}

const ajv = new Ajv({ allErrors: true, strict: true, useDefaults: true });
addFormats.default(ajv);
const validators = new Map(
  Object.entries(providerTypes).map(([type, { schema }]) => [
    type,
    ajv.compile({
      type: 'object',
      required: schema.required,
      additionalProperties: false,
      properties: {
        type: { const: type },
        title: nonEmptyText,
        clientId: nonEmptyText,
        clientSecret: nonEmptyText,
        scope: { type: 'string', default: '' },
        nativeAudiences: { type: 'array', items: nonEmptyText, default: [] },
        ...schema.properties,
      },
    }),
  ]),
);

/** @throws {Error} if the file is not valid. The message continues a sentence that begins with its variable. */
export function parseSocialProviders(json: string): SocialProviderSettings {
  let document: unknown;
  try {
    document = JSON.parse(json);
  } catch (error) {
    throw new Error(`is not valid JSON: ${(error as Error).message}`);
  }
  if (!isObject(document)) throw new Error('must be an object');
  const errors: string[] = [];
  const providers = new Map<string, ProviderSettings>();
  for (const [name, given] of Object.entries(document)) {
    const settings = withDefaults(name, given);
    const settingsErrors = validateAndAddDefaults(name, settings);
    errors.push(...settingsErrors);
    if (settingsErrors.length === 0) providers.set(name, { ...(settings as ProviderSettings), name });
  }
  if (errors.length > 0) throw new Error(`has errors: ${errors.join('; ')}`);
  return providers;
}

/**
 * The title of a provider is its name with a capital first letter. Its preset is not used if the file contains the
 * setting that `replacedBy` names.
 */
function withDefaults(name: string, given: unknown): unknown {
  if (!isObject(given)) return given;
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  return { title, ...(preset && !(preset.replacedBy in given) && preset.settings), ...given };
}

/** Returns the errors of the settings. Adds the defaults of the schema to `settings`. */
function validateAndAddDefaults(name: string, settings: unknown): readonly string[] {
  if (!/^[A-Za-z0-9][\w-]{0,31}$/.test(name)) return [`/${name} must be named with letters, digits, - and _`];
  if (typeof settings !== 'object' || settings === null) return [`/${name} must be an object`];
  const validate = validators.get((settings as ProviderSettings).type);
  if (!validate) return [`/${name}/type must be ${[...validators.keys()].join(' or ')}`];
  if (!validate(settings)) return (validate.errors ?? []).map((error) => describeError(name, error));
  return Object.entries(settings)
    .filter(([, value]) => typeof value === 'string' && value.startsWith('http:') && !isLoopback(value))
    .map(([key]) => `/${name}/${key} must be https`);
}

function describeError(name: string, { instancePath, message, params }: ErrorObject): string {
  const unknown = params.additionalProperty ? ` (${params.additionalProperty})` : '';
  return `/${name}${instancePath} ${message}${unknown}`;
}
