// What is believed of a native token? "Only when the provider says that it is live and was issued to one of nativeAudiences" (contract
// section 4). Here a token is what the provider says of it, in base64: each endpoint reads its own answer out of it.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuthServer, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

interface Facts {
  /** Of the endpoint that knows about tokens, and of userinfo: a status, or the body of a 200. */
  readonly token: unknown;
  readonly user?: unknown;
}

const app = 'our-app';
const tokenOf = (facts: Facts): string => Buffer.from(JSON.stringify(facts)).toString('base64url');

let provider: Server;
let server: AuthServer;
beforeAll(async () => {
  provider = createServer(async (request, response) => {
    const [status, body] = await answer(request);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const origin = originOf();
  const oidc = { type: 'oidc', issuer: origin, clientId: 'web', clientSecret: 's', nativeAudiences: [app] };
  const file = join(mkdtempSync(join(tmpdir(), 'social-')), 'providers.json');
  writeFileSync(
    file,
    JSON.stringify({
      informed: { ...oidc, tokenInfoEndpoint: `${origin}/token-info` },
      introspected: { ...oidc, introspectionEndpoint: `${origin}/introspect` },
      graph: {
        type: 'oauth2',
        clientId: 'web',
        clientSecret: 's',
        nativeAudiences: [app],
        authorizationEndpoint: `${origin}/authorize`,
        tokenEndpoint: `${origin}/token`,
        userinfoEndpoint: `${origin}/userinfo`,
        tokenInfoEndpoint: `${origin}/debug`,
      },
    }),
  );
  server = await startAuthServer({ SOCIAL_PROVIDERS_FILE: file });
});
afterAll(async () => {
  await server.close();
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
});

const originOf = (): string => `http://localhost:${(provider.address() as AddressInfo).port}`;

async function answer(request: IncomingMessage): Promise<[number, unknown]> {
  const { pathname, searchParams } = new URL(request.url ?? '/', originOf());
  if (pathname.startsWith('/.well-known/')) {
    return [
      200,
      { issuer: originOf(), token_endpoint: `${originOf()}/token`, userinfo_endpoint: `${originOf()}/userinfo` },
    ];
  }
  const form = new URLSearchParams(request.method === 'POST' ? await text(request) : '');
  const bearer = request.headers.authorization?.replace(/^Bearer /, '');
  const token =
    pathname === '/userinfo' ? bearer : (form.get('token') ?? searchParams.get('access_token') ?? undefined);
  const facts = JSON.parse(
    Buffer.from(searchParams.get('input_token') ?? token ?? '', 'base64url').toString(),
  ) as Facts;
  const said = pathname === '/userinfo' ? (facts.user ?? 404) : facts.token;
  return typeof said === 'number' ? [said, { error: 'no' }] : [200, said];
}

const exchange = async (name: string, facts: Facts) =>
  statusAndBody(
    await server.post('/connect/token', {
      grant_type: 'social_access_token',
      client_id: 'demo-native',
      scope: scopes.play,
      provider: name,
      token: tokenOf(facts),
    }),
  );

const live = { active: true, client_id: app, sub: 'u-1' };
const valid = { data: { is_valid: true, app_id: app, user_id: 'u-1' } };
const past = Math.floor(Date.now() / 1000) - 60;

describe('a native token is accepted when the provider says that it is live and was issued to one of nativeAudiences', () => {
  test.each<[string, string, Facts]>([
    ['informed', 'aud', { token: { aud: app, sub: 'u-1' } }],
    ['informed', 'an aud of several', { token: { aud: ['another-app', app], sub: 'u-1' } }],
    ['informed', 'azp', { token: { azp: app, sub: 'u-1' } }],
    ['informed', 'azp, meant for another', { token: { azp: app, aud: 'an-api', sub: 'u-1' } }],
    [
      'informed',
      'aud, of somebody whom userinfo knows more of',
      { token: { aud: app, sub: 'u-1' }, user: { sub: 'u-1' } },
    ],
    ['introspected', 'client_id', { token: live }],
    ['introspected', 'aud, where no client_id is told', { token: { active: true, aud: [app], sub: 'u-1' } }],
    ['graph', 'app_id', { token: valid, user: { id: 'u-1' } }],
  ])('%s: by %s', async (name, _title, facts) => {
    expect(await exchange(name, facts)).toMatchObject({ status: 200, token_type: 'Bearer' });
  });
});

describe('else it is invalid_grant', () => {
  test.each<[string, string, Facts]>([
    ['informed', 'issued to another application', { token: { aud: 'another-app', sub: 'u-1' } }],
    [
      'informed',
      'issued to another application, though for ours',
      { token: { azp: 'another-app', aud: app, sub: 'u-1' } },
    ],
    ['informed', 'nobody’s', { token: { aud: app } }],
    ['informed', 'expired', { token: { aud: app, sub: 'u-1', exp: String(past) } }],
    ['informed', 'refused', { token: 400 }],
    ['informed', 'of which nothing is known', { token: null }],
    ['informed', 'of another user than userinfo says', { token: { aud: app, sub: 'u-1' }, user: { sub: 'u-2' } }],
    ['introspected', 'not live', { token: { active: false } }],
    [
      'introspected',
      'issued to another application, though for ours',
      { token: { ...live, client_id: 'x', aud: app } },
    ],
    ['introspected', 'nobody’s', { token: { active: true, client_id: app } }],
    ['introspected', 'of another user than userinfo says', { token: live, user: { sub: 'u-2' } }],
    ['graph', 'not valid', { token: { data: { is_valid: false } } }],
    [
      'graph',
      'issued to another application',
      { token: { data: { ...valid.data, app_id: 'x' } }, user: { id: 'u-1' } },
    ],
    ['graph', 'of another user than userinfo says', { token: valid, user: { id: 'u-2' } }],
    ['graph', 'of a user without an id', { token: valid, user: { name: 'Nobody' } }],
    ['graph', 'refused by userinfo', { token: valid, user: 400 }],
    ['graph', 'refused by userinfo as not authorized', { token: valid, user: 401 }],
  ])('%s: %s', async (name, _title, facts) => {
    expect(await exchange(name, facts)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });
});

describe('and 503 temporarily_unavailable where the provider cannot say', () => {
  test.each<[string, string, Facts]>([
    ['informed', 'having failed', { token: 500 }],
    ['informed', 'having been asked too often', { token: 429 }],
    ['graph', 'having failed', { token: 502 }],
    ['graph', 'whose userinfo has failed', { token: valid, user: 500 }],
    ['graph', 'whose userinfo has been asked too often', { token: valid, user: 429 }],
  ])('%s: %s', async (name, _title, facts) => {
    expect(await exchange(name, facts)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
  });
});
