// Provides the clients for the tests of the back-channel logout: their metadata, a server that receives logout tokens,
// and the validation of a token.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { expect } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import type { ImportedClient } from '../src/oidc/clients/stored-client.ts';

export interface ReceivedLogout {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
  readonly claims: JWTPayload;
}

type Respond = (response: ServerResponse) => void;

/** @param respond sends the response to each logout token. Default: a response with status 200. */
export async function startLogoutReceiver(respond: Respond = (response) => response.end()) {
  const received: ReceivedLogout[] = [];
  let connections = 0;
  const { server, ...receiver } = await serveHttp(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    received.push({
      path: request.url ?? '',
      method: request.method ?? '',
      headers: request.headers,
      form,
      claims: decodeJwt(form.get('logout_token') ?? ''),
    });
    respond(response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  return {
    ...receiver,
    received,
    /** The number of connections to the receiver so far. */
    connections: () => connections,
    /** Returns the logout tokens for a user, sorted, each as the text `CLIENT SID`. Without sid, SID is `-`. */
    logoutsOf: (sub: string): readonly string[] =>
      received
        .filter(({ claims }) => claims.sub === sub)
        .map(({ claims }) => `${claims.aud} ${claims.sid ?? '-'}`)
        .sort(),
  };
}

export const appRedirectUri = 'https://app.example/callback';
export const appSecret = (id: string): string => `the-secret-of-${id}-0123456789abcdef`;

/** Returns a confidential client with a logout address. `more` replaces or extends its metadata. */
export const logoutClient = (
  id: string,
  backchannel_logout_uri: string,
  more: Readonly<Record<string, unknown>> = {},
): ImportedClient =>
  ({
    client_id: id,
    client_secret: appSecret(id),
    redirect_uris: [appRedirectUri],
    post_logout_redirect_uris: [appRedirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'openid profile offline_access',
    backchannel_logout_uri,
    ...more,
  }) as ImportedClient;

/** Validates a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.6), and returns its claims. */
export async function validateLogoutToken(
  { form }: ReceivedLogout,
  { issuer, clientId, alg }: { issuer: string; clientId: string; alg: string },
): Promise<JWTPayload> {
  expect([...form.keys()]).toEqual(['logout_token']);
  const token = form.get('logout_token') ?? '';
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/connect/jwks`)), {
    issuer,
    audience: clientId,
    typ: 'logout+jwt',
    algorithms: [alg],
    requiredClaims: ['iss', 'aud', 'iat', 'exp', 'jti', 'events'],
    maxTokenAge: '1 minute',
  });
  expect(decodeProtectedHeader(token)).toEqual({ alg, typ: 'logout+jwt', kid: expect.any(String) });
  expect(payload.events).toEqual({ 'http://schemas.openid.net/event/backchannel-logout': {} });
  // OpenID Connect Back-Channel Logout 1.0 section 4 recommends a lifetime of at most two minutes.
  expect(Number(payload.exp) - Number(payload.iat)).toBeLessThanOrEqual(120);
  expect(payload).not.toHaveProperty('nonce');
  // A logout token must contain `sub` or `sid`.
  expect(payload.sub ?? payload.sid).toEqual(expect.any(String));
  return payload;
}
