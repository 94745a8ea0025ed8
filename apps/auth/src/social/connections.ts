// How do we talk to a social provider? Through openid-client: an OIDC provider is discovered when first needed (it may be away when we
// start) and again every hour; of an OAuth 2 provider the settings are all there is.
import * as openid from 'openid-client';
import type { SocialProvider, SocialProviders } from './settings.ts';

export interface Connection {
  readonly provider: SocialProvider;
  readonly configuration: openid.Configuration;
}

export type Connect = (name: string) => Promise<Connection | undefined>;

/** Seconds that one request to a provider may take. */
export const providerTimeout = 5;
const discoveredFor = 3600_000;

export function connectProviders(providers: SocialProviders): Connect {
  const discovered = new Map<string, { at: number; configuration: Promise<openid.Configuration> }>();

  const discover = (provider: SocialProvider & { type: 'oidc' }): Promise<openid.Configuration> => {
    const known = discovered.get(provider.name);
    if (known && Date.now() - known.at < discoveredFor) return known.configuration;
    const issuer = new URL(provider.issuer);
    const configuration = openid
      .discovery(issuer, provider.clientId, provider.clientSecret, clientAuthentication(provider), {
        timeout: providerTimeout,
        ...(issuer.protocol === 'http:' && { execute: [openid.allowInsecureRequests] }),
      })
      .then((found) => {
        found.timeout = providerTimeout;
        return preferPost(found, provider);
      });
    discovered.set(provider.name, { at: Date.now(), configuration });
    // A failure is not kept: the next one who comes tries again.
    configuration.catch(() => discovered.delete(provider.name));
    return configuration;
  };

  return async (name) => {
    const provider = providers.get(name);
    if (!provider) return undefined;
    return { provider, configuration: provider.type === 'oidc' ? await discover(provider) : fixed(provider) };
  };
}

const clientAuthentication = ({ clientSecret }: SocialProvider): openid.ClientAuth =>
  clientSecret === undefined ? openid.None() : openid.ClientSecretBasic(clientSecret);

/** Basic is what every OIDC provider takes, unless it says that it takes the body only. */
function preferPost(found: openid.Configuration, provider: SocialProvider): openid.Configuration {
  const methods = found.serverMetadata().token_endpoint_auth_methods_supported;
  if (!provider.clientSecret || !methods || methods.includes('client_secret_basic')) return found;
  return configure(found.serverMetadata(), provider, openid.ClientSecretPost(provider.clientSecret));
}

function fixed(provider: SocialProvider & { type: 'oauth2' }): openid.Configuration {
  return configure(
    {
      issuer: new URL(provider.authorizationEndpoint).origin,
      authorization_endpoint: provider.authorizationEndpoint,
      token_endpoint: provider.tokenEndpoint,
    },
    provider,
    openid.ClientSecretPost(provider.clientSecret),
  );
}

function configure(
  server: openid.ServerMetadata,
  provider: SocialProvider,
  authentication: openid.ClientAuth,
): openid.Configuration {
  const configuration = new openid.Configuration(server, provider.clientId, provider.clientSecret, authentication);
  configuration.timeout = providerTimeout;
  if (server.token_endpoint?.startsWith('http:')) openid.allowInsecureRequests(configuration);
  return configuration;
}
