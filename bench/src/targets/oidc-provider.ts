// Floor: how fast is oidc-provider by itself, with its in-memory adapter, signing ES256 access tokens for one resource?
import { createServer } from 'node:http';
import Provider, { type Configuration } from 'oidc-provider';
import { endWithParent } from './start.ts';
import { facilitiesClaim, subject, tokenLifetime, tokenPeerOptions } from './token-peer.ts';

const { port, clientId, clientSecret, scope, audience, key, refreshTokens } = tokenPeerOptions();
const configuration: Configuration = {
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      grant_types: ['client_credentials', 'refresh_token', 'authorization_code'],
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'client_secret_post',
      id_token_signed_response_alg: 'ES256',
    },
  ],
  jwks: { keys: [{ ...key, kid: 'bench', use: 'sig', alg: 'ES256' }] } as never,
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
};
const provider = new Provider(`http://127.0.0.1:${port}`, configuration);

async function newRefreshToken(): Promise<string> {
  const client = await provider.Client.find(clientId);
  if (!client) throw new Error('no client');
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
  } as never);
  return token.save();
}

const handle = provider.callback();
createServer(async (request, response) => {
  if (request.url === '/ready') return void response.end();
  if (request.url !== '/refresh-tokens') return void handle(request, response);
  const tokens = await Promise.all(Array.from({ length: refreshTokens }, newRefreshToken));
  response.end(JSON.stringify(tokens));
}).listen(port);
endWithParent();
