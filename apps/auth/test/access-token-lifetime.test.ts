// Tests `access_token_ttl`, the lifetime in seconds of the access tokens of a client (docs/behaviour-auth.md, "Access
// tokens").
import { useFixture } from '@bay-booking/testkit/fixture';
import { textOf } from '@bay-booking/testkit/html-forms';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AuthServer, basic, createKeyStore, encryptionKey, scopes, statusAndBody } from './auth-server.ts';
import { authorize, openBrowser, player, webCallback } from './flows.ts';
import { startSocialServer } from './social-server.ts';

const secondsPerDay = 86_400;
const client = {
  client_id: 'client-with-ttl',
  client_secret: 'client-secret',
  redirect_uris: [webCallback],
  response_types: ['code', 'token', 'id_token token'],
  grant_types: [
    'authorization_code',
    'implicit',
    'refresh_token',
    'password',
    'client_credentials',
    'social_access_token',
  ],
  scope: `openid offline_access ${scopes.play} ${scopes.bookings}`,
};
const personalAccessToken = { client_id: 'pat-with-ttl', client_secret: 'pat-secret', accountId: 'acc-bot-north' };

/** A user of the simulated social providers. */
const socialUserId = '100001';
const fixture = useFixture(() => startSocialServer());
let server: AuthServer;
beforeAll(async () => {
  server = fixture.server;
  await server.load({
    clients: [
      { ...client, access_token_ttl: 120 },
      { ...personalAccessToken, access_token_ttl: 60 },
    ],
  });
});

const requestToken = async (form: Record<string, string>) =>
  statusAndBody(await server.post('/connect/token', form, basic(client.client_id, client.client_secret)));
const expectLifetime = (body: Record<string, unknown>, seconds: number) => {
  expect(body).toMatchObject({ status: 200, expires_in: seconds });
  const { exp = 0, iat = 0 } = decodeJwt(String(body.access_token));
  expect(exp - iat).toBe(seconds);
};

describe('the lifetime of access tokens', () => {
  test('client_credentials and personal access tokens give tokens with the lifetime access_token_ttl', async () => {
    expectLifetime(await requestToken({ grant_type: 'client_credentials', scope: scopes.play }), 120);
    const { client_id, client_secret } = personalAccessToken;
    const form = { grant_type: 'client_credentials', client_id, client_secret };
    // Our own code serves the first request without oidc-provider. Because of the space in its scope, the second one is
    // passed to oidc-provider.
    for (const scope of [scopes.bookings, ` ${scopes.bookings}`])
      expectLifetime(await statusAndBody(await server.post('/connect/token', { ...form, scope })), 60);
  });

  test('password, authorization_code and refresh_token give tokens with the lifetime access_token_ttl', async () => {
    const scope = `offline_access ${scopes.play}`;
    expectLifetime(await requestToken({ grant_type: 'password', ...player, scope }), 120);
    const { code } = await authorize(server, {
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: webCallback,
      scope,
    });
    const tokens = await requestToken({
      grant_type: 'authorization_code',
      code: String(code),
      redirect_uri: webCallback,
    });
    expectLifetime(tokens, 120);
    expectLifetime(
      await requestToken({ grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) }),
      120,
    );
  });

  test.each([
    ['token', scopes.play],
    ['id_token token', `openid ${scopes.play}`],
  ])(
    'the implicit flow with response_type=%s gives tokens with the lifetime access_token_ttl',
    async (responseType, scope) => {
      const request = {
        response_type: responseType,
        client_id: client.client_id,
        redirect_uri: webCallback,
        scope,
        nonce: 'n',
      };
      const { expires_in, ...fragment } = await authorize(server, request);
      expectLifetime({ ...fragment, status: 200, expires_in: Number(expires_in) }, 120);
    },
  );

  test.each(['google', 'facebook'] as const)(
    'social_access_token of %s gives tokens with the lifetime access_token_ttl',
    async (provider) => {
      const form = {
        grant_type: 'social_access_token',
        provider,
        token: fixture.social.nativeToken(provider, socialUserId),
      };
      const tokens = await requestToken({ ...form, scope: `offline_access ${scopes.play}` });
      expectLifetime(tokens, 120);
      expectLifetime(
        await requestToken({ grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) }),
        120,
      );
    },
  );

  test('a client without access_token_ttl gets access tokens for 3600 s (ACCESS_TOKEN_TTL)', async () => {
    const form = { grant_type: 'client_credentials', scope: scopes.bookings };
    const response = await server.post('/connect/token', form, basic('demo-pat-north', 'demo-pat-north-secret'));
    expectLifetime(await statusAndBody(response), 3600);
  });
});

// The lifetime must be an integer from 60 to 86,400 seconds.
test.each([59, 86_401, 60.5, '60'])('an import rejects access_token_ttl %p', async (value) => {
  const document = { clients: [{ ...client, access_token_ttl: value as number }] };
  await expect(server.load(document)).rejects.toThrow(/\/clients\/0\/access_token_ttl: /);
});

test('a signing key stays published for the longest lifetime that any client has or had', async () => {
  await server.load({ clients: [{ ...client, access_token_ttl: secondsPerDay }] });
  await server.load({ clients: [{ ...client, access_token_ttl: 120 }] });
  const store = createKeyStore({ db: server.db, encryptionKeys: [Buffer.from(encryptionKey, 'base64')] });
  // Creates keys that sign after 0 s, and then makes them the current keys, which retires the previous keys.
  await store.rotate(0);
  await store.advance();
  const retired = (await store.list()).filter(({ state }) => state === 'retired');
  expect(retired).not.toHaveLength(0);
  for (const { retiredAt, deleteAfter } of retired) {
    expect(Number(deleteAfter) - Number(retiredAt)).toBeGreaterThanOrEqual(secondsPerDay * 1000);
  }
});

test('the portal names the access_token_ttl of a personal access token', async () => {
  const browser = openBrowser(server);
  await server.load({
    accounts: [{ id: 'acc-own-bot', username: 'own-bot', password: 'own bot password', kind: 'service' }],
    clients: [{ client_id: 'own', client_secret: 'own-secret', accountId: 'acc-own-bot', access_token_ttl: 7200 }],
  });
  const signIn = await browser.open(`${server.origin}/portal/tokens/own/rotate`);
  const page = await browser.send(signIn, { username: 'own-bot', password: 'own bot password' });
  expect(textOf(page.html)).toContain('until they expire, for up to 2 hours');
});
