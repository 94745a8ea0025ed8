// Which social providers are there? SOCIAL_PROVIDERS_FILE, checked at start with every fault at once (contract section 4). `google` and
// `facebook` need credentials only; what is given by hand replaces the preset as a whole, so that no token goes to the wrong place.
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { isLoopback } from '../http/loopback.ts';

interface Common {
  readonly name: string;
  /** As people know it. */
  readonly title: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scope: string;
  /** Client ids whose access tokens the native exchange accepts. */
  readonly nativeAudiences: readonly string[];
  readonly tokenInfoEndpoint?: string;
}

export interface OidcProvider extends Common {
  readonly type: 'oidc';
  readonly issuer: string;
  readonly introspectionEndpoint?: string;
}

export interface OAuth2Provider extends Common {
  readonly type: 'oauth2';
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint: string;
  readonly claims: { readonly sub: string; readonly name: string; readonly email: string };
}

export type SocialProvider = OidcProvider | OAuth2Provider;
export type SocialProviders = ReadonlyMap<string, SocialProvider>;

const url = { type: 'string', format: 'uri', pattern: '^https?://' } as const;
const text = { type: 'string', minLength: 1 } as const;
const common = {
  clientId: text,
  clientSecret: text,
  scope: text,
  nativeAudiences: { type: 'array', items: text },
  tokenInfoEndpoint: url,
} as const;
const schemas = {
  oidc: {
    type: 'object',
    required: ['issuer', 'clientId'],
    additionalProperties: false,
    properties: { type: { const: 'oidc' }, issuer: url, introspectionEndpoint: url, ...common },
  },
  oauth2: {
    type: 'object',
    required: ['authorizationEndpoint', 'tokenEndpoint', 'userinfoEndpoint', 'clientId', 'clientSecret'],
    additionalProperties: false,
    properties: {
      type: { const: 'oauth2' },
      authorizationEndpoint: url,
      tokenEndpoint: url,
      userinfoEndpoint: url,
      claims: { type: 'object', additionalProperties: false, properties: { sub: text, name: text, email: text } },
      ...common,
    },
  },
} as const;

const graph = 'https://graph.facebook.com/v23.0';
const presets: Readonly<Record<string, { unless: string; settings: Record<string, unknown> }>> = {
  google: {
    unless: 'issuer',
    settings: {
      type: 'oidc',
      issuer: 'https://accounts.google.com',
      tokenInfoEndpoint: 'https://oauth2.googleapis.com/tokeninfo',
    },
  },
  facebook: {
    unless: 'authorizationEndpoint',
    settings: {
      type: 'oauth2',
      authorizationEndpoint: 'https://www.facebook.com/v23.0/dialog/oauth',
      tokenEndpoint: `${graph}/oauth/access_token`,
      userinfoEndpoint: `${graph}/me?fields=id,name,email`,
      tokenInfoEndpoint: 'https://graph.facebook.com/debug_token',
      scope: 'email public_profile',
    },
  },
};

const ajv = new Ajv({ allErrors: true, strict: true });
addFormats.default(ajv);
const validators = { oidc: ajv.compile(schemas.oidc), oauth2: ajv.compile(schemas.oauth2) };

/** @throws {Error} whose message names the path of every fault */
export function parseSocialProviders(json: string): SocialProviders {
  let document: unknown;
  try {
    document = JSON.parse(json);
  } catch (error) {
    throw new Error(`is no JSON: ${(error as Error).message}`);
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new Error('must be an object');
  const faults: string[] = [];
  const providers = new Map<string, SocialProvider>();
  for (const [name, given] of Object.entries(document)) {
    const settings = withPreset(name, given);
    const found = findFaults(name, settings);
    if (found.length === 0) providers.set(name, complete(name, settings as Settings));
    faults.push(...found);
  }
  if (faults.length > 0) throw new Error(`has faults: ${faults.join('; ')}`);
  return providers;
}

type Settings = Readonly<Record<string, unknown>>;

function withPreset(name: string, given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  const preset = presets[name];
  return preset && !(preset.unless in given) ? { ...preset.settings, ...given } : given;
}

function findFaults(name: string, settings: unknown): readonly string[] {
  if (!/^[A-Za-z0-9][\w-]{0,31}$/.test(name)) return [`/${name} must be named with letters, digits, - and _`];
  if (typeof settings !== 'object' || settings === null) return [`/${name} must be an object`];
  const { type } = settings as Settings;
  if (type !== 'oidc' && type !== 'oauth2') return [`/${name}/type must be oidc or oauth2`];
  const valid = validators[type];
  if (!valid(settings)) {
    return (valid.errors ?? []).map(({ instancePath, message, params }) => {
      const unknown = params.additionalProperty ? ` (${params.additionalProperty})` : '';
      return `/${name}${instancePath} ${message}${unknown}`;
    });
  }
  return Object.entries(settings)
    .filter(([, value]) => typeof value === 'string' && value.startsWith('http:') && !isLoopback(value))
    .map(([key]) => `/${name}/${key} must be https`);
}

function complete(name: string, settings: Settings): SocialProvider {
  const { claims, ...rest } = settings as { claims?: object };
  return {
    name,
    title: name.charAt(0).toUpperCase() + name.slice(1),
    nativeAudiences: [],
    scope: settings.type === 'oidc' ? 'openid email profile' : '',
    ...rest,
    ...(settings.type === 'oauth2' && { claims: { sub: 'id', name: 'name', email: 'email', ...claims } }),
  } as unknown as SocialProvider;
}
