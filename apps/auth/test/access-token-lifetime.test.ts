// Tests `access_token_ttl`, with which a client has its own lifetime of access tokens (docs/behaviour.md, "Access
// tokens").
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SocialProviders, startSocialProviders } from '@bay-booking/testkit/social-providers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { readImportDocument } from '../src/import/document.ts';
import { createKeySchedule } from '../src/signing-keys/schedule.ts';
import { createKeyStore } from '../src/signing-keys/store.ts';
import { type AuthServer, basic, encryptionKey, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorize, openBrowser, player, webCallback } from './flows.ts';

const day = 86_400;
const client = {
  client_id: 'slow',
  client_secret: 'slow-secret',
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
const tokenOf = { client_id: 'slow-token', client_secret: 'slow-token-secret', accountId: 'acc-bot-north' };

let social: SocialProviders;
let server: AuthServer;
beforeAll(async () => {
  social = await startSocialProviders();
  const file = join(mkdtempSync(join(tmpdir(), 'social-')), 'providers.json');
  writeFileSync(file, JSON.stringify(social.settings));
  server = await startAuthServer({ SOCIAL_PROVIDERS_FILE: file });
  await server.load({
    clients: [
      { ...client, access_token_ttl: 120 },
      { ...tokenOf, access_token_ttl: 60 },
    ],
  });
});
afterAll(async () => {
  await server.close();
  await social.stop();
});

const request = async (form: Record<string, string>) =>
  statusAndBody(await server.post('/connect/token', form, basic('slow', 'slow-secret')));
const expectLifetime = (body: Record<string, unknown>, seconds: number) => {
  expect(body).toMatchObject({ status: 200, expires_in: seconds });
  const { exp = 0, iat = 0 } = decodeJwt(String(body.access_token));
  expect(exp - iat).toBe(seconds);
};

describe('access_token_ttl is the lifetime of access tokens', () => {
  test('for client_credentials, including personal access tokens', async () => {
    expectLifetime(await request({ grant_type: 'client_credentials', scope: scopes.play }), 120);
    const form = {
      grant_type: 'client_credentials',
      client_id: tokenOf.client_id,
      client_secret: tokenOf.client_secret,
      scope: scopes.bookings,
    };
    for (const scope of [scopes.bookings, ` ${scopes.bookings}`]) {
      expectLifetime(await statusAndBody(await server.post('/connect/token', { ...form, scope })), 60);
    }
  });

  test('for the grant types password, authorization_code and refresh_token', async () => {
    const scope = `offline_access ${scopes.play}`;
    expectLifetime(await request({ grant_type: 'password', ...player, scope }), 120);
    const { code } = await authorize(server, {
      response_type: 'code',
      client_id: 'slow',
      redirect_uri: webCallback,
      scope,
    });
    const tokens = await request({
      grant_type: 'authorization_code',
      code: String(code),
      redirect_uri: webCallback,
    });
    expectLifetime(tokens, 120);
    expectLifetime(await request({ grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) }), 120);
  });

  test.each([
    ['token', scopes.play],
    ['id_token token', `openid ${scopes.play}`],
  ])('for the implicit flow with response_type=%s', async (responseType, scope) => {
    const request = { response_type: responseType, client_id: 'slow', redirect_uri: webCallback, scope, nonce: 'n' };
    const { expires_in, ...fragment } = await authorize(server, request);
    expectLifetime({ ...fragment, status: 200, expires_in: Number(expires_in) }, 120);
  });

  test.each(['google', 'facebook'] as const)('for social_access_token with a token from %s', async (provider) => {
    const form = { grant_type: 'social_access_token', provider, token: social.nativeToken(provider, '100001') };
    const tokens = await request({ ...form, scope: `offline_access ${scopes.play}` });
    expectLifetime(tokens, 120);
    expectLifetime(await request({ grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) }), 120);
  });

  test('a client without access_token_ttl gets access tokens for 3600 s (ACCESS_TOKEN_TTL)', async () => {
    const form = { grant_type: 'client_credentials', scope: scopes.bookings };
    const response = await server.post('/connect/token', form, basic('demo-pat-north', 'demo-pat-north-secret'));
    expectLifetime(await statusAndBody(response), 3600);
  });
});

test.each([59, 86_401, 60.5, '60'])('an import rejects access_token_ttl %p', (value) => {
  const document = JSON.stringify({ clients: [{ ...client, access_token_ttl: value }] });
  expect(() => readImportDocument(document)).toThrow(
    expect.objectContaining({ errors: [expect.stringMatching(/^\/clients\/0\/access_token_ttl: /)] }),
  );
});

test('a signing key stays published for the longest lifetime that any client has or had', async () => {
  await server.load({ clients: [{ ...client, access_token_ttl: day }] });
  await server.load({ clients: [{ ...client, access_token_ttl: 120 }] });
  const store = createKeyStore({ db: server.db, encryptionKey: Buffer.from(encryptionKey, 'base64') });
  const schedule = createKeySchedule(store);
  await schedule.rotate(0);
  await schedule.advance();
  const retired = (await store.list()).filter(({ state }) => state === 'retired');
  expect(retired).not.toHaveLength(0);
  for (const { retiredAt, deleteAfter } of retired) {
    expect(Number(deleteAfter) - Number(retiredAt)).toBeGreaterThanOrEqual(day * 1000);
  }
});

test('the portal states the lifetime of a token with access_token_ttl', async () => {
  const browser = openBrowser(server);
  await server.load({
    accounts: [{ id: 'acc-slow-bot', username: 'slow-bot', password: 'slow bot password', kind: 'service' }],
    clients: [{ client_id: 'own', client_secret: 'own-secret', accountId: 'acc-slow-bot', access_token_ttl: 7200 }],
  });
  const signIn = await browser.open(`${server.origin}/portal/tokens/own/revoke`);
  const page = await browser.send(signIn, { username: 'slow-bot', password: 'slow bot password' });
  expect(page.html).toContain('<strong>2 hours</strong>');
  expect((await browser.open(`${server.origin}/portal`)).html).toContain('<strong>2 hours</strong>');
});
