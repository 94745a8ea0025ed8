// Serves a token endpoint with @node-oauth/oauth2-server. The benchmark compares auth with this server. All data are in
// memory, and the access tokens are signed with ES256.
import { createPrivateKey, randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import OAuth2Server from '@node-oauth/oauth2-server';
import jwt from 'jsonwebtoken';
import { endWithParent } from './start.ts';
import { facilitiesClaim, subject, tokenLifetime, tokenPeerOptions } from './token-peer.ts';

const { port, clientId, clientSecret, scope, audience, key: jwk, refreshTokenCount } = tokenPeerOptions();
const key = createPrivateKey({ key: jwk, format: 'jwk' });
const client = { id: clientId, grants: ['client_credentials', 'refresh_token'] };
const user = { id: subject };
const refreshTokenLifetimeMs = 86_400_000;
const refreshTokenStore = new Map<string, OAuth2Server.RefreshToken>();

const server = new OAuth2Server({
  accessTokenLifetime: tokenLifetime,
  model: {
    getClient: async (id: string, secret: string) => (id === clientId && secret === clientSecret ? client : null),
    getUserFromClient: async () => user,
    validateScope: async (_user: object, _client: object, requested?: string[]) => requested ?? [scope],
    generateAccessToken: async () =>
      jwt.sign({ client_id: clientId, scope, facilities: facilitiesClaim }, key, {
        algorithm: 'ES256',
        keyid: 'bench',
        issuer: `http://127.0.0.1:${port}`,
        audience,
        subject,
        expiresIn: tokenLifetime,
        jwtid: randomUUID(),
      }),
    generateRefreshToken: async () => randomBytes(32).toString('base64url'),
    saveToken: async (token: OAuth2Server.Token) => {
      const saved = { ...token, client, user };
      if (token.refreshToken) refreshTokenStore.set(token.refreshToken, { ...saved, refreshToken: token.refreshToken });
      return saved;
    },
    getRefreshToken: async (token: string) => refreshTokenStore.get(token) ?? null,
    revokeToken: async ({ refreshToken }: { refreshToken: string }) => refreshTokenStore.delete(refreshToken),
    // The type of the model also requires methods for grant types that this server does not have.
  } as never,
});

function newRefreshToken(): string {
  const refreshToken = randomBytes(32).toString('base64url');
  refreshTokenStore.set(refreshToken, {
    refreshToken,
    client,
    user,
    scope: [scope],
    refreshTokenExpiresAt: new Date(Date.now() + refreshTokenLifetimeMs),
  });
  return refreshToken;
}

createServer(async (request, response) => {
  if (request.url === '/ready') return void response.end();
  if (request.url === '/refresh-tokens') {
    return void response.end(JSON.stringify(Array.from({ length: refreshTokenCount }, newRefreshToken)));
  }
  let form = '';
  for await (const chunk of request) form += chunk;
  const tokenRequest = new OAuth2Server.Request({
    method: request.method ?? 'POST',
    headers: request.headers as Record<string, string>,
    query: {},
    body: Object.fromEntries(new URLSearchParams(form)),
  });
  const tokenResponse = new OAuth2Server.Response();
  // If the request is rejected, `OAuth2Server` has written the error to `tokenResponse`.
  await server.token(tokenRequest, tokenResponse).catch(() => {});
  const body = JSON.stringify(tokenResponse.body);
  response.writeHead(tokenResponse.status ?? 500, {
    ...tokenResponse.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}).listen(port);
endWithParent();
