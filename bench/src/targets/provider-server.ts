// Serves oidc-provider with the defaults of the library, rotation of refresh tokens, and ES256 access tokens for one
// resource. A target may pass a storage adapter. Without one, the library stores everything in memory.
//
// Two paths do not belong to the library: `/ready` responds as soon as the server runs, and `/refresh-tokens` creates
// the refresh tokens that the measurement uses.
import { createServer } from 'node:http';
import Provider, { type AdapterFactory, type Configuration } from 'oidc-provider';
import { endWithParent } from './start.ts';
import { facilitiesClaim, subject, type TokenPeerOptions, tokenLifetime } from './token-peer.ts';

const clientMetadata = ({ clientId, clientSecret }: TokenPeerOptions) => ({
  client_id: clientId,
  client_secret: clientSecret,
  grant_types: ['client_credentials', 'refresh_token', 'authorization_code'],
  redirect_uris: ['http://127.0.0.1/callback'],
  token_endpoint_auth_method: 'client_secret_post' as const,
  id_token_signed_response_alg: 'ES256' as const,
});

const configuration = ({ scope, audience, key }: TokenPeerOptions): Configuration => ({
  jwks: { keys: [{ ...key, kid: 'bench', use: 'sig', alg: 'ES256' }] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope,
        audience,
        accessTokenTTL: tokenLifetime,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  extraTokenClaims: () => ({ facilities: facilitiesClaim }),
  rotateRefreshToken: true,
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  ttl: { AccessToken: tokenLifetime, ClientCredentials: tokenLifetime, Grant: 86_400, RefreshToken: 86_400 },
});

/** The value of `expiresIn` with which the adapters store something without a time limit. */
const neverExpires = 0;

/** With an adapter, the client is stored through the adapter. Without an adapter, it is part of the configuration. */
export async function serveProvider(options: TokenPeerOptions, adapter?: AdapterFactory): Promise<void> {
  const { port, clientId, scope, audience, refreshTokenCount } = options;
  const storage = adapter ? { adapter } : { clients: [clientMetadata(options)] };
  await adapter?.('Client').upsert(clientId, clientMetadata(options), neverExpires);
  const provider = new Provider(`http://127.0.0.1:${port}`, { ...configuration(options), ...storage });

  const newRefreshToken = async (): Promise<string> => {
    const client = await provider.Client.find(clientId);
    if (!client) throw new Error('the client was not stored');
    const grant = new provider.Grant({ accountId: subject, clientId });
    grant.addOIDCScope('openid offline_access');
    grant.addResourceScope(audience, scope);
    const token = new provider.RefreshToken({
      client,
      accountId: subject,
      grantId: await grant.save(),
      gty: 'authorization_code',
      scope: `openid offline_access ${scope}`,
      resource: audience,
    });
    return token.save();
  };

  const handle = provider.callback();
  createServer(async (request, response) => {
    if (request.url === '/ready') return void response.end();
    if (request.url !== '/refresh-tokens') return void handle(request, response);
    const tokens = await Promise.all(Array.from({ length: refreshTokenCount }, newRefreshToken));
    response.end(JSON.stringify(tokens));
  }).listen(port);
  endWithParent();
}
