// Tests which access tokens from native apps are accepted, depending on the provider's response
// (docs/behaviour-auth.md, "Social providers"). Also tests that a rejected token counts as a failed sign-in.
// The presets for Microsoft, Apple and GitHub need only credentials to sign users in.
//
// A token of the first tests contains the provider's responses, in base64url. The simulated provider decodes the token
// that it gets, and sends these responses.
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';
import { type AuthServer, scopes, serverGlobals, startAuthServer } from './auth-server.ts';
import { createPublicProviders, type PublicProviders } from './public-providers.ts';
import { socialProvidersFile } from './social-server.ts';

/** Each response is either the status of an error, or the body of a response with status 200. */
interface Responses {
  /** The response of the endpoint that checks tokens. */
  readonly token: unknown;
  /**
   * The response of userinfo. If it is left out, userinfo returns 404. A provider of the type `oidc` does not need
   * userinfo, and one of the type `oauth2` does.
   */
  readonly user?: unknown;
}

/** The credentials at the providers with a preset: Microsoft, Apple and GitHub. */
const clientId = 'com.example.bay-booking';
const clientSecret = 'public-provider-secret';

const app = 'our-app';
const tokenFor = (responses: Responses): string => Buffer.from(JSON.stringify(responses)).toString('base64url');

let provider: Awaited<ReturnType<typeof serveHttp>>;
let publicProviders: PublicProviders;
let server: AuthServer;
const originalFetch = serverGlobals.fetch;
beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  publicProviders = await createPublicProviders({ clientId, clientSecret, applePublicKey: publicKey });
  // The server of the test runs in this process, so its requests reach the simulated providers.
  serverGlobals.fetch = publicProviders.fetch;
  // The client secret of Apple is a JWT that the developer signs. It contains the ids of the developer's team and key.
  const appleSecret = await new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: 'KEY1234567' })
    .setIssuer('TEAM123456')
    .setSubject(clientId)
    .setAudience('https://appleid.apple.com')
    .setIssuedAt()
    .setExpirationTime('180d')
    .sign(privateKey);
  provider = await serveHttp(async (request, response) => {
    const [status, body] = await respond(request);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  const origin = providerOrigin();
  const oidc = { type: 'oidc', issuer: origin, clientId: 'web', clientSecret: 's', nativeAudiences: [app] };
  server = await startAuthServer(
    socialProvidersFile({
      tokenInfo: { ...oidc, tokenInfoEndpoint: `${origin}/token-info` },
      introspection: { ...oidc, introspectionEndpoint: `${origin}/introspect` },
      debugToken: {
        type: 'oauth2',
        clientId: 'web',
        clientSecret: 's',
        nativeAudiences: [app],
        authorizationEndpoint: `${origin}/authorize`,
        tokenEndpoint: `${origin}/token`,
        userinfoEndpoint: `${origin}/userinfo`,
        tokenInfoEndpoint: `${origin}/debug`,
      },
      // Neither the settings nor the discovery document contain an endpoint that can check a token.
      uncheckable: oidc,
      microsoft: { clientId, clientSecret },
      apple: { clientId, clientSecret: appleSecret },
      github: { clientId, clientSecret },
    }),
  );
});
afterAll(async () => {
  serverGlobals.fetch = originalFetch;
  await server.close();
  await provider.close();
});

const providerOrigin = (): string => `http://localhost:${provider.port}`;

async function respond(request: IncomingMessage): Promise<[number, unknown]> {
  const { pathname, searchParams } = new URL(request.url ?? '/', providerOrigin());
  if (pathname.startsWith('/.well-known/')) {
    const issuer = providerOrigin();
    return [200, { issuer, token_endpoint: `${issuer}/token`, userinfo_endpoint: `${issuer}/userinfo` }];
  }
  const form = new URLSearchParams(request.method === 'POST' ? await text(request) : '');
  // Each endpoint gets the token in a different place. `/debug` gets it as `input_token`, and the credentials of our
  // app as `access_token`.
  const token =
    pathname === '/userinfo'
      ? request.headers.authorization?.replace(/^Bearer /, '')
      : (searchParams.get('input_token') ?? searchParams.get('access_token') ?? form.get('token'));
  const responses = JSON.parse(Buffer.from(token ?? '', 'base64url').toString()) as Responses;
  const response = pathname === '/userinfo' ? (responses.user ?? 404) : responses.token;
  return typeof response === 'number' ? [response, { error: 'no' }] : [200, response];
}

const formFor = (provider: string, responses: Responses) => ({
  grant_type: 'social_access_token',
  client_id: 'demo-native',
  scope: scopes.play,
  provider,
  token: tokenFor(responses),
});
const exchange = (name: string, responses: Responses) => server.token(formFor(name, responses));

/** The response of an introspection endpoint to a valid token. */
const activeResponse = { active: true, client_id: app, sub: 'u-1' };
/** The response of Facebook's `debug_token` to a valid token. */
const validResponse = { data: { is_valid: true, app_id: app, user_id: 'u-1' } };
const issuedToOther = { data: { ...validResponse.data, app_id: 'x' } };
const minuteAgo = Math.floor(Date.now() / 1000) - 60;

describe('native tokens that are valid and were issued to one of nativeAudiences', () => {
  test.each<[string, string, Responses]>([
    ['tokenInfo', 'aud', { token: { aud: app, sub: 'u-1' } }],
    ['tokenInfo', 'one of several values of aud', { token: { aud: ['another-app', app], sub: 'u-1' } }],
    ['tokenInfo', 'azp', { token: { azp: app, sub: 'u-1' } }],
    ['tokenInfo', 'azp, although aud names another application', { token: { azp: app, aud: 'an-api', sub: 'u-1' } }],
    ['introspection', 'client_id', { token: activeResponse }],
    ['introspection', 'aud without client_id', { token: { active: true, aud: [app], sub: 'u-1' } }],
    ['debugToken', 'app_id', { token: validResponse, user: { id: 'u-1' } }],
  ])('the provider %s confirms a native token by %s', async (name, _title, responses) => {
    const response = await exchange(name, responses);
    expect(response).toMatchObject({ status: 200, token_type: 'Bearer' });
    const claims = decodeJwt(String(response.access_token));
    expect(claims).toMatchObject({ client_id: 'demo-native', acr: `idp:${name}`, amr: ['fed'] });
    const identity = { provider: name, subject: 'u-1' };
    expect(await server.db('social_identity').where(identity)).toMatchObject([{ account_id: claims.sub }]);
  });

  test('userinfo adds the name and the address that the response about the token lacks', async () => {
    const user = { sub: 'u-3', name: 'Uma Userinfo', email: 'uma@social.example', email_verified: true };
    const response = await exchange('tokenInfo', { token: { aud: app, sub: 'u-3', name: 'Uma Token' }, user });
    const account = { name: 'Uma Token', email: 'uma@social.example', email_verified: true };
    const { sub = '' } = decodeJwt(String(response.access_token));
    expect(await server.db('account').where({ id: sub })).toMatchObject([account]);
  });
});

describe('native tokens that the provider does not confirm', () => {
  test.each<[string, string, Responses]>([
    ['tokenInfo', 'was issued to another application', { token: { aud: 'another', sub: 'u-1' } }],
    ['tokenInfo', 'names our application only in aud', { token: { azp: 'another', aud: app, sub: 'u-1' } }],
    ['tokenInfo', 'has no user', { token: { aud: app } }],
    // Google's endpoint returns `exp` as text.
    ['tokenInfo', 'has expired', { token: { aud: app, sub: 'u-1', exp: String(minuteAgo) } }],
    ['tokenInfo', 'makes the request invalid', { token: 400 }],
    ['tokenInfo', 'gets the response null', { token: null }],
    ['tokenInfo', 'belongs to another user', { token: { aud: app, sub: 'u-1' }, user: { sub: 'u-2' } }],
    ['introspection', 'is not active', { token: { active: false } }],
    ['introspection', 'names our application only in aud', { token: { ...activeResponse, client_id: 'x', aud: app } }],
    ['introspection', 'has no user', { token: { active: true, client_id: app } }],
    ['introspection', 'belongs to another user', { token: activeResponse, user: { sub: 'u-2' } }],
    ['debugToken', 'is not valid', { token: { data: { is_valid: false } } }],
    ['debugToken', 'was issued to another application', { token: issuedToOther, user: { id: 'u-1' } }],
    ['debugToken', 'belongs to another user', { token: validResponse, user: { id: 'u-2' } }],
    ['debugToken', 'belongs to a user without an id', { token: validResponse, user: { name: 'Nobody' } }],
    ['debugToken', 'is invalid for userinfo', { token: validResponse, user: 400 }],
    ['uncheckable', 'cannot be checked, because the provider has no endpoint for that', { token: activeResponse }],
    ['debugToken', 'is not authorized for userinfo', { token: validResponse, user: 401 }],
  ])('at the provider %s, a native token gets invalid_grant if it %s', async (name, _title, responses) => {
    expect(await exchange(name, responses)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });
});

describe('native tokens that the provider cannot check at the moment', () => {
  test.each<[string, string, Responses]>([
    ['tokenInfo', 'the endpoint fails', { token: 500 }],
    ['tokenInfo', 'the rate of requests is limited', { token: 429 }],
    ['debugToken', 'the endpoint fails', { token: 502 }],
    ['debugToken', 'userinfo fails', { token: validResponse, user: 500 }],
    ['debugToken', 'the rate of userinfo requests is limited', { token: validResponse, user: 429 }],
  ])('at the provider %s, a native token gets 503 temporarily_unavailable if %s', async (name, _title, responses) => {
    expect(await exchange(name, responses)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
  });
});

test('a token that the provider does not confirm counts as a failed sign-in from the IP address', async () => {
  const guarded = await server.startInstance({}, { addressFailures: 5 });
  // Other tests have also failed to sign in from this address.
  await server.db.raw('delete from guard_count');
  const body = new URLSearchParams(formFor('debugToken', { token: { data: { is_valid: false } } }));
  const exchangeInvalidToken = () => fetch(`${guarded.origin}/connect/token`, { method: 'POST', body });
  for (let n = 0; n < 5; n++) expect((await exchangeInvalidToken()).status).toBe(400);
  const locked = await exchangeInvalidToken();
  expect([locked.status, Number(locked.headers.get('retry-after')) > 0]).toEqual([429, true]);
  // The other tests send their requests from the same address, which must not stay locked out.
  await server.db.raw('delete from guard_count');
});

/** The id of the user Ada at each of the simulated providers. */
const adaId = '100001';

const names = ['microsoft', 'apple', 'github'] as const;
const beginSignIn = async (name: string) => {
  const visitor = openFormBrowser([server.origin]);
  // The server redirects the visitor to the authorization endpoint of the provider.
  const { url } = await visitor.open(`/social/${name}?return=/account`);
  return { visitor, authorizationUrl: url };
};
const findAccount = async (name: string) => {
  const { account_id: id } = await server.db('social_identity').where({ provider: name, subject: adaId }).first();
  return server.db('account').where({ id }).first('name', 'email', 'email_verified');
};

describe.each(names)('%s', (name) => {
  test(`the preset ${name} signs a user in twice, and stores the name and the e-mail address that the provider sends`, async () => {
    for (let round = 1; round <= 2; round++) {
      const { visitor, authorizationUrl } = await beginSignIn(name);
      const page = await visitor.open(publicProviders.signIn(authorizationUrl, adaId));
      expect(page.url.href).toBe(`${server.origin}/account`);
    }
    // The simulated providers send the claims that the real ones send to these presets. The preset for Apple requests
    // only the scope `openid`, so Apple sends neither name nor address. Microsoft sends no `email_verified`, and GitHub
    // sends no address if the user keeps it private.
    expect(await findAccount(name)).toEqual(
      {
        microsoft: { name: 'Ada Fairway', email: 'ada@social.example', email_verified: false },
        apple: { name: null, email: null, email_verified: false },
        github: { name: 'Ada Fairway', email: null, email_verified: false },
      }[name],
    );
  });

  test(`the preset ${name} redirects a user who cancels to the sign-in page`, async () => {
    const { visitor, authorizationUrl } = await beginSignIn(name);
    // `undefined` instead of a user id stands for a user who cancels.
    const page = await visitor.open(publicProviders.signIn(authorizationUrl, undefined));
    expect(page.url.pathname).toBe('/sign-in');
    expect(page.html).toContain('You cancelled signing in with');
  });

  test(`the preset ${name} shows an error page if the provider does not accept the code`, async () => {
    const { visitor, authorizationUrl } = await beginSignIn(name);
    const callback = publicProviders.signIn(authorizationUrl, adaId);
    callback.searchParams.set('code', 'made-up');
    const page = await visitor.open(callback);
    expect(page.status).toBe(502);
    expect(page.title).toMatch(/did not work/);
  });
});
