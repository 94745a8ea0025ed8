// Specification, "Social identity provider login" and "Native social token exchange"; contract section 4.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { type SocialProviders, startSocialProviders } from '@bay-booking/testkit/social-providers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AuthServer, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

let social: SocialProviders;
let server: AuthServer;
beforeAll(async () => {
  social = await startSocialProviders();
  const file = join(mkdtempSync(join(tmpdir(), 'social-')), 'providers.json');
  writeFileSync(file, JSON.stringify(social.settings));
  server = await startAuthServer({ SOCIAL_PROVIDERS_FILE: file });
});
afterAll(async () => {
  await server.close();
  await social.stop();
});

const ada = '100001';
const ben = '100002';
const namedLikePlayer = '100003';
const allow = { name: 'decision', value: 'allow' };
const browser = (): FormBrowser => openFormBrowser([server.origin, social.origin]);
const authorize = (params: Record<string, string> = {}): string =>
  `${server.origin}/connect/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: 'demo-native',
    redirect_uri: 'com.example.demo:/callback',
    scope: `offline_access ${scopes.play}`,
    ...params,
  })}`;
const redeem = async (page: Page) =>
  statusAndBody(
    await server.post('/connect/token', {
      grant_type: 'authorization_code',
      code: page.url.searchParams.get('code') ?? '',
      client_id: 'demo-native',
      redirect_uri: 'com.example.demo:/callback',
    }),
  );
const at = (page: Page, name: string): void => expect(page.url.href).toContain(`${social.origin}/${name}/authorize`);
const become = (visitor: FormBrowser, page: Page, user: string) =>
  visitor.send(page, {}, { name: 'user', value: user });

/** The address to which the provider sends the browser, not yet visited. */
const comeBack = async (login: Page, user: string): Promise<URL> => {
  const response = await fetch(login.url, { method: 'POST', body: new URLSearchParams({ user }), redirect: 'manual' });
  return new URL(response.headers.get('location') ?? '');
};

describe.each(['google', 'facebook'] as const)('acr_values=idp:%s', (name) => {
  test('the user logs in at the provider, an account is created, and the code yields access_token and refresh_token', async () => {
    const visitor = browser();
    const login = await visitor.open(authorize({ acr_values: `idp:${name}` }));
    at(login, name);
    const consent = await become(visitor, login, ada);
    expect(consent.title).toMatch(/^Allow access/);
    const tokens = await redeem(await visitor.send(consent, {}, allow));
    expect(tokens).toMatchObject({ status: 200, access_token: expect.any(String), refresh_token: expect.any(String) });
    const { sub } = decodeJwt(String(tokens.access_token));

    const again = browser();
    const back = await become(again, await again.open(authorize({ acr_values: `idp:${name}` })), ada);
    const later = await redeem(await again.send(back, {}, allow));
    expect(decodeJwt(String(later.access_token)).sub).toBe(sub);
  });

  test('with openid, the id_token says who it is and how they signed in', async () => {
    const visitor = browser();
    const login = await visitor.open(
      authorize({ acr_values: `idp:${name}`, scope: `openid profile email ${scopes.play}` }),
    );
    const tokens = await redeem(await visitor.send(await become(visitor, login, ada), {}, allow));
    expect(decodeJwt(String(tokens.id_token))).toMatchObject({
      name: 'Ada Fairway',
      email: 'ada@social.example',
      email_verified: name === 'google',
    });
  });

  test('a browser that is signed in as somebody else becomes the provider’s user, without any script', async () => {
    const visitor = browser();
    const signedIn = await visitor.send(await visitor.open(`${server.origin}/sign-in?return=/signed-out`), {
      username: 'player@example.com',
      password: 'demo-player-pass',
    });
    expect(signedIn.status).toBe(200);
    const login = await visitor.open(authorize({ acr_values: `idp:${name}` }));
    at(login, name);
    const tokens = await redeem(await visitor.send(await become(visitor, login, ben), {}, allow));
    expect(tokens.status).toBe(200);
    expect(decodeJwt(String(tokens.access_token)).sub).not.toBe('acc-player');
  });

  test('the provider says no: a page says so, with ways to go on', async () => {
    const visitor = browser();
    const login = await visitor.open(authorize({ acr_values: `idp:${name}` }));
    const refusal = await become(visitor, login, '');
    expect(refusal.status).toBe(403);
    expect(refusal.title).toMatch(/did not sign you in/);
    const retry = await visitor.open(refusal.links.find(({ text }) => /^Try .* again$/.test(text))?.href ?? '');
    at(retry, name);
    const others = await visitor.open(refusal.links.find(({ text }) => text === 'Other ways to sign in')?.href ?? '');
    expect(others.title).toMatch(/^Sign in/);
    const cancelled = await visitor.send(others, {}, 'Cancel');
    expect(cancelled.url.searchParams.get('error')).toBe('access_denied');
  });

  test('the provider is away when the code is to be redeemed: a page says so', async () => {
    const visitor = browser();
    const login = await visitor.open(authorize({ acr_values: `idp:${name}` }));
    const callback = await comeBack(login, ada);
    social.trouble[name] = 'away';
    try {
      const page = await visitor.open(callback);
      expect(page.status).toBe(502);
      expect(page.title).toMatch(/did not work/);
    } finally {
      social.trouble[name] = 'none';
    }
  });
});

describe('the callback', () => {
  const leave = async (visitor: FormBrowser) => {
    const login = await visitor.open(authorize({ acr_values: 'idp:google' }));
    return { login };
  };

  test('is for the browser that set out alone', async () => {
    const visitor = browser();
    const { login } = await leave(visitor);
    const attacker = browser();
    await leave(attacker);
    const callback = await comeBack(login, ada);
    const stolen = await attacker.open(callback);
    expect(stolen.status).toBe(400);
    expect(stolen.title).toMatch(/has expired/);
  });

  test('works once', async () => {
    const visitor = browser();
    const { login } = await leave(visitor);
    const callback = await comeBack(login, ada);
    expect((await visitor.open(callback)).title).toMatch(/^Allow access/);
    expect((await visitor.open(callback)).status).toBe(400);
  });

  test('of one provider takes no answer of another (mix-up)', async () => {
    const visitor = browser();
    const { login } = await leave(visitor);
    const callback = await comeBack(login, ada);
    const elsewhere = new URL(callback);
    elsewhere.pathname = '/social/facebook/callback';
    expect((await visitor.open(elsewhere)).status).toBe(400);
    callback.searchParams.set('iss', 'https://evil.example');
    expect((await visitor.open(callback)).status).toBe(502);
  });

  test('with an unknown provider or state is an explanation', async () => {
    expect((await browser().open(`${server.origin}/social/nobody/callback?state=x`)).status).toBe(400);
    expect((await browser().open(`${server.origin}/social/%00/callback?state=x`)).status).toBe(400);
    expect((await browser().open(`${server.origin}/social/nobody`)).status).toBe(404);
  });
});

test('the sign-in page offers each provider', async () => {
  const page = await browser().open(authorize());
  expect(page.links.map(({ text }) => text)).toEqual(
    expect.arrayContaining([
      expect.stringContaining('Continue with Google'),
      expect.stringContaining('Continue with Facebook'),
    ]),
  );
});

test('acr_values naming a provider that is not there is invalid_request', async () => {
  const page = await browser().open(authorize({ acr_values: 'idp:nobody' }));
  expect(page.url.searchParams.get('error')).toBe('invalid_request');
});

test('signing in at our own pages returns to a page of ours', async () => {
  const visitor = browser();
  const signIn = await visitor.open(`${server.origin}/sign-in?return=/signed-out`);
  const login = await visitor.open(signIn.links.find(({ text }) => text.includes('Google'))?.href ?? '');
  expect((await become(visitor, login, ada)).url.href).toBe(`${server.origin}/signed-out`);
  const evil = await visitor.open(`${server.origin}/social/google?return=//evil.example`);
  expect((await become(visitor, evil, ada)).url.origin).toBe(server.origin);
});

describe('social_access_token', () => {
  const exchange = async (form: Record<string, string>) =>
    statusAndBody(
      await server.post('/connect/token', {
        grant_type: 'social_access_token',
        client_id: 'demo-native',
        scope: `offline_access ${scopes.play}`,
        ...form,
      }),
    );
  const subOf = (answer: Record<string, unknown>) => decodeJwt(String(answer.access_token)).sub;

  test.each(['google', 'facebook'] as const)(
    'a token of %s yields a standard token response, the same account each time',
    async (provider) => {
      const first = await exchange({ token: social.nativeToken(provider, ben), provider });
      expect(first).toMatchObject({
        status: 200,
        token_type: 'Bearer',
        expires_in: 3600,
        refresh_token: expect.any(String),
        scope: `offline_access ${scopes.play}`,
      });
      const second = await exchange({ token: social.nativeToken(provider, ben) });
      expect(subOf(second)).toBe(subOf(first));
    },
  );

  test('the account is that of the provider’s pages', async () => {
    const visitor = browser();
    const login = await visitor.open(authorize({ acr_values: 'idp:google' }));
    const tokens = await redeem(await visitor.send(await become(visitor, login, ada), {}, allow));
    const native = await exchange({ token: social.nativeToken('google', ada) });
    expect(subOf(native)).toBe(subOf(tokens));
  });

  test('an account is never joined to a local one by e-mail alone', async () => {
    const answer = await exchange({ token: social.nativeToken('google', namedLikePlayer) });
    expect(answer.status).toBe(200);
    expect(subOf(answer)).not.toBe('acc-player');
  });

  test.each(['google', 'facebook'] as const)(
    'a live token of %s that was issued to another application is invalid_grant',
    async (provider) => {
      const token = social.nativeToken(provider, ada, { clientId: 'somebody-elses-app' });
      expect(await exchange({ token, provider })).toMatchObject({ status: 400, error: 'invalid_grant' });
      expect(await exchange({ token })).toMatchObject({ status: 400, error: 'invalid_grant' });
    },
  );

  test.each(['google', 'facebook'] as const)(
    'an expired, foreign or malformed token of %s is invalid_grant',
    async (provider) => {
      const other = provider === 'google' ? 'facebook' : 'google';
      for (const token of [
        social.nativeToken(provider, ada, { lifetime: -1 }),
        'made-up',
        'a b\n',
        'x'.repeat(9_000),
        social.nativeToken(other, ada),
      ])
        expect(await exchange({ token, provider })).toMatchObject({ status: 400, error: 'invalid_grant' });
    },
  );

  test('a provider that is not known is invalid_grant', async () => {
    const token = social.nativeToken('google', ada);
    expect(await exchange({ token, provider: 'nobody' })).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test('while the provider is away: 503 temporarily_unavailable, and the other provider still answers for its own', async () => {
    social.trouble.facebook = 'away';
    try {
      expect(await exchange({ token: social.nativeToken('facebook', ada) })).toMatchObject({
        status: 503,
        error: 'temporarily_unavailable',
      });
      expect(await exchange({ token: social.nativeToken('google', ada) })).toMatchObject({ status: 200 });
    } finally {
      social.trouble.facebook = 'none';
    }
  });

  test('a provider that never answers is given up after its time-out', async () => {
    social.trouble.facebook = 'silent';
    try {
      const answer = await exchange({ token: social.nativeToken('facebook', ada), provider: 'facebook' });
      expect(answer).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
    } finally {
      social.trouble.facebook = 'none';
    }
  });

  test('the account is made once, however many first logins race', async () => {
    const token = social.nativeToken('facebook', namedLikePlayer);
    const answers = await Promise.all(Array.from({ length: 16 }, () => exchange({ token, provider: 'facebook' })));
    expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect(new Set(answers.map(subOf)).size).toBe(1);
    const { rows } = await server.db.raw(
      "select 1 from account where username like 'facebook:%' and name = 'Not Pat Player'",
    );
    expect(rows).toHaveLength(1);
  });

  test('the token never reaches the log', async () => {
    const token = social.nativeToken('google', ada, { clientId: 'somebody-elses-app' });
    await exchange({ token });
    await server.auth.settle();
    expect(server.log.join('\n')).not.toContain(token);
  });
});
