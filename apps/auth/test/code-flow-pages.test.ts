// Specification, "Authorization code flow" step 2 and "Scopes" rule 3; contract sections 5 and 6: what people see and decide.

import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AuthServer, basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await startAuthServer({ LOCKOUT_SLOW_DOWN_MS: '0' });
});
afterAll(() => server.close());

const player = { username: 'player@example.com', password: 'demo-player-pass' };
const browser = (): FormBrowser => openFormBrowser([server.origin]);
const authorize = (params: Record<string, string> = {}): string =>
  `${server.origin}/connect/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: 'demo-web',
    redirect_uri: 'http://localhost:4010/callback',
    scope: `openid profile offline_access ${scopes.play}`,
    state: 'st',
    ...pkce,
    ...params,
  })}`;
const pkce = {
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
};
const exchange = async (page: Page): Promise<Record<string, unknown>> =>
  statusAndBody(
    await server.post(
      '/connect/token',
      {
        grant_type: 'authorization_code',
        code: page.url.searchParams.get('code') ?? '',
        redirect_uri: 'http://localhost:4010/callback',
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      },
      basic('demo-web', 'demo-web-secret'),
    ),
  );
const allow = { name: 'decision', value: 'allow' };
const deny = { name: 'decision', value: 'deny' };
const ticked = (page: Page): string[] =>
  page.forms.flatMap((form) => form.fields.filter((field) => field.name === 'scope').map((field) => field.value));

describe('the user logs in, then consents', () => {
  test('and the redirect carries code and scope', async () => {
    const visitor = browser();
    const signIn = await visitor.open(authorize());
    expect(signIn.title).toMatch(/^Sign in/);
    const consent = await visitor.send(signIn, player);
    expect(consent.title).toMatch(/^Allow access/);
    expect(ticked(consent)).toEqual(['profile', 'offline_access', scopes.play]);
    const back = await visitor.send(consent, {}, allow);
    expect(back.url.href).toMatch(/^http:\/\/localhost:4010\/callback\?/);
    expect(back.url.searchParams.get('state')).toBe('st');
    expect(back.url.searchParams.get('scope')).toBe(`openid profile offline_access ${scopes.play}`);
    const tokens = await exchange(back);
    expect(tokens).toMatchObject({ status: 200, token_type: 'Bearer', refresh_token: expect.any(String) });
    expect(decodeJwt(String(tokens.id_token))).toMatchObject({ sub: 'acc-player', name: 'Pat Player' });
  });

  test('a second request is answered at once: signing in and consent are remembered', async () => {
    const visitor = browser();
    const signedIn = await visitor.send(await visitor.open(authorize({ prompt: 'consent' })), player);
    await visitor.send(signedIn, {}, allow);
    const again = await visitor.open(authorize());
    expect(again.url.origin).toBe('http://localhost:4010');
  });

  test('another browser of the same person asks for consent again', async () => {
    const first = browser();
    await first.send(await first.send(await first.open(authorize({ prompt: 'consent' })), player), {}, allow);
    const other = browser();
    const asked = await other.send(await other.open(authorize()), player);
    const back = await other.send(asked, {}, deny);
    expect(back.url.searchParams.get('error')).toBe('access_denied');
  });

  test('what one browser allowed is no answer for another, and what this one allowed or declined before stays', async () => {
    const first = browser();
    const wide = authorize({ scope: `openid profile email ${scopes.play}`, prompt: 'consent' });
    await first.send(await first.send(await first.open(wide), player), {}, allow);
    const other = browser();
    const narrow = authorize({ scope: `openid ${scopes.play}`, prompt: 'consent' });
    await other.send(await other.send(await other.open(narrow), player), {}, allow);
    const asked = await other.open(authorize({ scope: 'openid profile email' }));
    expect(asked.title).toMatch(/^Allow access/);
    await other.send(asked, { scope: ['profile'] }, allow);
    const back = await other.open(authorize({ scope: `openid profile email ${scopes.play}` }));
    expect(back.url.searchParams.get('scope')).toBe(`openid profile ${scopes.play}`);
    // Another decision, about something else, leaves both as they are.
    const more = await other.open(authorize({ scope: 'openid roles' }));
    await other.send(more, {}, allow);
    const all = await other.open(authorize({ scope: `openid profile email roles ${scopes.play}` }));
    expect(all.url.searchParams.get('scope')).toBe(`openid profile roles ${scopes.play}`);
  });

  test('or denies, and the redirect carries access_denied', async () => {
    const visitor = browser();
    const signIn = await visitor.open(authorize({ prompt: 'consent' }));
    const back = await visitor.send(await visitor.send(signIn, player), {}, deny);
    expect(back.url.searchParams.get('error')).toBe('access_denied');
    expect(back.url.searchParams.get('state')).toBe('st');
    expect(back.url.searchParams.get('code')).toBeNull();
  });

  test('or cancels on the sign-in page', async () => {
    const visitor = browser();
    const back = await visitor.send(await visitor.open(authorize()), {}, 'Cancel');
    expect(back.url.searchParams.get('error')).toBe('access_denied');
  });
});

describe('a client may be granted fewer scopes than requested', () => {
  const asked = `openid profile email roles offline_access ${scopes.play} ${scopes.bookings}`;

  test('and the granted ones are reported in the redirect and in the token response', async () => {
    const visitor = browser();
    const consent = await visitor.send(await visitor.open(authorize({ scope: asked, prompt: 'consent' })), player);
    expect(ticked(consent)).not.toContain('openid');
    const back = await visitor.send(consent, { scope: ['profile', scopes.play] }, allow);
    expect(back.url.searchParams.get('scope')).toBe(`openid profile ${scopes.play}`);
    const tokens = await exchange(back);
    expect(tokens.scope).toBe(`openid profile ${scopes.play}`);
    expect(tokens.refresh_token).toBeUndefined();
    // What was declined is not asked for again in this session …
    expect((await visitor.open(authorize({ scope: asked }))).url.searchParams.get('scope')).toBe(
      `openid profile ${scopes.play}`,
    );
    // … unless the client says so, and then the decision is a new one.
    const asking = await visitor.open(authorize({ scope: asked, prompt: 'consent' }));
    expect(ticked(asking)).toContain('email');
    const more = await visitor.send(asking, { scope: ['email', scopes.bookings] }, allow);
    expect(more.url.searchParams.get('scope')).toBe(`openid email ${scopes.bookings}`);
  });

  test('declining everything that may be declined leaves access_denied where nothing is left', async () => {
    const visitor = browser();
    const url = authorize({ scope: scopes.play, prompt: 'consent' });
    const consent = await visitor.send(await visitor.open(url), player);
    const back = await visitor.send(consent, { scope: [] }, allow);
    expect(back.url.searchParams.get('error')).toBe('access_denied');
  });

  test('a scope that was not asked for is not granted, whatever the form says', async () => {
    const visitor = browser();
    const url = authorize({ scope: `openid ${scopes.play}`, prompt: 'consent' });
    const consent = await visitor.send(await visitor.open(url), player);
    const back = await visitor.send(consent, { scope: [scopes.play, scopes.bookings, 'offline_access'] }, allow);
    expect(back.url.searchParams.get('scope')).toBe(`openid ${scopes.play}`);
  });

  test('driving-range client applications need openid, profile, roles and play; e-mail and offline_access are optional', async () => {
    const visitor = browser();
    const url = authorize({
      client_id: 'demo-range',
      redirect_uri: 'http://localhost:4010/range',
      scope: `openid profile roles email offline_access ${scopes.play}`,
    });
    const consent = await visitor.send(await visitor.open(url), player);
    expect(ticked(consent)).toEqual(['email', 'offline_access']);
    const back = await visitor.send(consent, { scope: [] }, allow);
    expect(back.url.searchParams.get('scope')).toBe(`openid profile roles ${scopes.play}`);
  });
});

describe('the user logs in or registers', () => {
  const newcomer = (name: string) => ({
    name: 'Nora Newcomer',
    username: `${name}@example.org`,
    password: 'seven unusual lamps',
  });

  test('registering signs in at once, and email_verified is false until the mailed link is used', async () => {
    const visitor = browser();
    const signIn = await visitor.open(authorize({ scope: `openid email ${scopes.play}` }));
    const register = await visitor.open(signIn.links.find(({ text }) => text === 'Create an account')?.href ?? '');
    const consent = await visitor.send(register, newcomer('nora'));
    expect(consent.title).toMatch(/^Allow access/);
    const tokens = await exchange(await visitor.send(consent, {}, allow));
    const claims = decodeJwt(String(tokens.id_token));
    expect(claims).toMatchObject({ email: 'nora@example.org', email_verified: false });

    const link = new RegExp(`${server.origin}/verify-email\\?token=[\\w-]+`).exec(server.log.join('\n'))?.[0] ?? '';
    expect((await visitor.open(link)).title).toMatch(/^Your address is confirmed/);
    const later = await exchange(await visitor.open(authorize({ scope: `openid email ${scopes.play}` })));
    expect(decodeJwt(String(later.id_token))).toMatchObject({ email_verified: true });
    expect((await visitor.open(link)).status).toBe(410);
  });

  test('bad input is shown beside its field, and nothing typed but the password is lost', async () => {
    const visitor = browser();
    const register = await visitor.open(`${server.origin}/register`);
    const page = await visitor.send(register, { name: '', username: 'nobody', password: 'password1' });
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/^Error: /);
    for (const field of ['name', 'username', 'password']) {
      expect(page.html).toContain(`id="${field}-error"`);
      expect(page.html).toMatch(
        new RegExp(`id="${field}"[^>]*aria-describedby="[^"]*${field}-error[^"]*" aria-invalid="true"`),
      );
    }
    expect(page.forms.flatMap((form) => form.fields)).toContainEqual(
      expect.objectContaining({ name: 'username', value: 'nobody' }),
    );
    expect(page.html).not.toContain('password1');
  });

  test('a name that is taken is refused, whatever its letters’ case', async () => {
    const visitor = browser();
    const register = await visitor.open(`${server.origin}/register`);
    const page = await visitor.send(register, { ...newcomer('x'), username: 'PLAYER@example.com' });
    expect(page.status).toBe(409);
    expect(page.html).toContain('There is already an account with this address');
  });

  test('what is typed is shown as text, never as markup', async () => {
    const visitor = browser();
    const name = '<script>alert(1)</script>"\'&';
    const page = await visitor.send(await visitor.open(`${server.origin}/register`), {
      name,
      username: name,
      password: '',
    });
    expect(page.html).not.toContain('<script>');
    expect(page.forms.flatMap((form) => form.fields)).toContainEqual(
      expect.objectContaining({ name: 'name', value: name }),
    );
  });
});

describe('a page is answered', () => {
  test('to a form that has no token of this browser: 403, and nothing happens', async () => {
    const visitor = browser();
    const signIn = await visitor.open(authorize());
    const stranger = browser();
    const theirs = await stranger.open(authorize());
    const csrf = theirs.forms[0]?.fields.find((field) => field.name === 'csrf')?.value ?? '';
    expect((await visitor.send(signIn, { ...player, csrf })).status).toBe(403);
    expect((await visitor.send(signIn, { ...player, csrf: '' })).status).toBe(403);
    const forged = await fetch(`${server.origin}/sign-in`, { method: 'POST', body: new URLSearchParams(player) });
    expect(forged.status).toBe(403);
  });

  test('to another site’s form: 403, even with the right token', async () => {
    const visitor = openFormBrowser([server.origin], { 'Sec-Fetch-Site': 'cross-site' });
    const signIn = await visitor.open(`${server.origin}/sign-in`);
    expect((await visitor.send(signIn, player)).status).toBe(403);
  });

  test('without the interaction’s cookie: an explanation, not the form', async () => {
    const visitor = browser();
    const signIn = await visitor.open(authorize());
    const elsewhere = await browser().open(signIn.url);
    expect(elsewhere.status).toBe(400);
    expect(elsewhere.title).toMatch(/This sign-in has expired/);
  });

  test('with headers that let it load nothing from elsewhere, run no script and be framed by nobody', async () => {
    const page = await browser().open(authorize());
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    // It would hold for wherever the application leads on to, too.
    expect(policy).not.toContain('form-action');
    const own = await browser().open(`${server.origin}/sign-in`);
    expect(own.headers.get('content-security-policy')).toContain("form-action 'self'");
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.html).not.toMatch(/<script|style="|\son\w+=/);
  });

  test('to an error that cannot be sent back: a page, with the protocol’s words for the client’s makers', async () => {
    const page = await browser().open(authorize({ redirect_uri: 'https://evil.example/' }));
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/This sign-in cannot continue/);
    expect(page.html).toContain('redirect_uri');
  });

  test('to whoever is signed in with the way to sign out, whatever went wrong', async () => {
    const visitor = openFormBrowser([server.origin], { Accept: 'text/html' });
    const account = await visitor.send(await visitor.open(`${server.origin}/sign-in`), player);
    expect(account.title).toMatch(/^Your account/);
    for (const [path, status] of [
      ['/nowhere', 404],
      ['/connect/nowhere', 404],
      ['/connect/authorize', 400],
      ['/connect/endsession?client_id=nobody', 400],
      ['/interaction/nowhere', 400],
    ] as const) {
      const page = await visitor.open(server.origin + path);
      const found = { path, status: page.status, forms: page.forms.map(({ action }) => new URL(action).pathname) };
      expect(found).toEqual({ path, status, forms: ['/sign-out'] });
    }
    const page = await visitor.open(`${server.origin}/nowhere`);
    await visitor.send(page, {});
    expect((await visitor.open(`${server.origin}/nowhere`)).forms).toEqual([]);
  });
});
