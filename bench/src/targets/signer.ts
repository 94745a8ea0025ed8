// Serves a token endpoint with node:http only. The endpoint reads the form and signs a token, but does not check the
// client. No token endpoint can do less work. The benchmark compares auth with this server, the target `signer`.
import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { endWithParent } from './start.ts';
import { facilitiesClaim, subject, tokenLifetime, tokenPeerOptions } from './token-peer.ts';

const { port, clientId, scope, audience, key: jwk } = tokenPeerOptions();
const key = createPrivateKey({ key: jwk, format: 'jwk' });
const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'bench' })).toString('base64url');

function accessToken(): string {
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    iss: `http://127.0.0.1:${port}`,
    aud: audience,
    sub: subject,
    client_id: clientId,
    scope,
    iat,
    exp: iat + tokenLifetime,
    jti: randomUUID(),
    facilities: facilitiesClaim,
  };
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

createServer(async (request, response) => {
  if (request.url === '/ready') return void response.end();
  let form = '';
  for await (const chunk of request) form += chunk;
  if (!new URLSearchParams(form).has('grant_type')) return void response.writeHead(400).end();
  const body = JSON.stringify({ access_token: accessToken(), expires_in: tokenLifetime, token_type: 'Bearer', scope });
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  });
  response.end(body);
}).listen(port);
endWithParent();
