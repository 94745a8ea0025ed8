// Runs the OpenID conformance plans "basic", "implicit", "form post basic" and "form post implicit", for a provider
// with discovery and static clients, and the plan "RP-initiated logout". Each test has the name of a module of the
// OpenID conformance suite; docs/conformance.md lists the results.
//
// Fast tests check the other modules: discovery.test.ts the plan "config" and what the discovery document says about
// logout, backchannel-logout.test.ts the plan "back-channel logout", tokens.test.ts the modules of userinfo,
// authorization-code.test.ts PKCE and codes that were used, attacks.test.ts redirect URIs that are not registered, and
// import.test.ts `idtoken-unsigned`.
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { startAuthServer } from '../auth-server.ts';
import { codeModules, commonModules, implicitModules, responseTypeMissing, secretInBody } from './modules.ts';
import { createRelyingParty } from './relying-party.ts';

const server = useFixture(() => startAuthServer());
/** The address to which users of demo-web return after they have signed out. */
const postLogoutRedirectUri = 'http://localhost:4010/signed-out';

const basicPlan = [
  {
    variant: { responseType: 'code' },
    modules: { ...commonModules, ...responseTypeMissing, ...codeModules },
  },
  { variant: { responseType: 'code', clientAuth: 'post' }, modules: secretInBody },
] as const;
const implicitPlan = [
  { variant: { responseType: 'id_token' }, modules: { ...commonModules, ...implicitModules } },
  {
    variant: { responseType: 'id_token token' },
    modules: { ...commonModules, ...implicitModules, ...responseTypeMissing },
  },
] as const;
const plans = {
  'oidcc-basic-certification-test-plan': basicPlan,
  'oidcc-implicit-certification-test-plan': implicitPlan,
};

for (const [plan, variants] of Object.entries(plans)) {
  for (const responseMode of [undefined, 'form_post'] as const) {
    describe(responseMode ? plan.replace('oidcc-', 'oidcc-formpost-') : plan, () => {
      for (const { variant, modules } of variants) {
        test.each(Object.entries(modules))(`%s (${variant.responseType})`, (_name, module) =>
          module(createRelyingParty(server, { ...variant, ...(responseMode && { responseMode }) })),
        );
      }
    });
  }
}

describe('oidcc-rp-initiated-logout-certification-test-plan', () => {
  /** Signs in at the relying party. `hint` is the id_token. */
  const signIn = async () => {
    const rp = createRelyingParty(server, { responseType: 'code' });
    const browser = rp.newBrowser();
    const tokens = await rp.expectTokens(await rp.authorize({}, { browser }));
    return { rp, browser, hint: tokens.idToken };
  };
  const requestSignOut = (browser: FormBrowser, params: Record<string, string>): Promise<Page> =>
    browser.open(`/connect/endsession?${new URLSearchParams(params)}`);
  const confirm = (browser: FormBrowser, page: Page): Promise<Page> => browser.send(page, {}, 'Sign out');
  const expectSignedOut = async ({ rp, browser }: Awaited<ReturnType<typeof signIn>>): Promise<void> =>
    rp.expectError(await rp.authorize({ prompt: 'none' }, { browser }), /^login_required$/);

  test.each<[string, { state?: string }]>([
    ['oidcc-rp-initiated-logout', { state: 's'.repeat(128) }],
    ['oidcc-rp-initiated-logout-no-state', {}],
  ])('%s: the user is signed out and returns to the relying party with its state', async (_name, stateParam) => {
    const visit = await signIn();
    const confirmation = await requestSignOut(visit.browser, {
      id_token_hint: visit.hint,
      post_logout_redirect_uri: postLogoutRedirectUri,
      ...stateParam,
    });
    const back = await confirm(visit.browser, confirmation);
    const { state } = stateParam;
    expect(back.url.href).toBe(state === undefined ? postLogoutRedirectUri : `${postLogoutRedirectUri}?state=${state}`);
    await expectSignedOut(visit);
  });

  test.each([
    ['oidcc-rp-initiated-logout-no-params', () => ({})],
    ['oidcc-rp-initiated-logout-no-post-logout-redirect-uri', (hint: string) => ({ id_token_hint: hint, state: 'st' })],
    ['oidcc-rp-initiated-logout-only-state', () => ({ state: 'st' })],
  ])('%s: the user is signed out and sees a page that says so', async (_name, params) => {
    const visit = await signIn();
    const page = await confirm(visit.browser, await requestSignOut(visit.browser, params(visit.hint)));
    expect({ status: page.status, title: page.title, origin: page.url.origin }).toEqual({
      status: 200,
      title: expect.stringMatching(/signed out/i),
      origin: server.origin,
    });
    await expectSignedOut(visit);
  });

  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const withoutSignature = async (hint: string): Promise<string> => `${encode({ alg: 'none' })}.${hint.split('.')[1]}.`;
  const signedWithAnotherKey = async (hint: string): Promise<string> => {
    const { privateKey } = await generateKeyPair('RS256');
    const claims = JSON.parse(Buffer.from(hint.split('.')[1] ?? '', 'base64url').toString());
    const { kid } = JSON.parse(Buffer.from(hint.split('.')[0] ?? '', 'base64url').toString());
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
  };

  test.each([
    ['oidcc-rp-initiated-logout-bad-post-logout-redirect-uri', async (hint: string) => hint, 'https://rp.example/evil'],
    [
      'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
      async (hint: string) => hint,
      `${postLogoutRedirectUri}?foo=bar`,
    ],
    ['oidcc-rp-initiated-logout-modified-id-token-hint', withoutSignature, postLogoutRedirectUri],
    ['oidcc-rp-initiated-logout-bad-id-token-hint', signedWithAnotherKey, postLogoutRedirectUri],
  ])('%s: the user sees an error page and stays signed in', async (_name, hintOf, uri) => {
    const { rp, browser, hint } = await signIn();
    const params = { id_token_hint: await hintOf(hint), post_logout_redirect_uri: uri, state: 'st' };
    const page = await requestSignOut(browser, params);
    expect(page.status).toBe(400);
    await rp.expectTokens(await rp.authorize({ prompt: 'none' }, { browser }));
  });

  test('oidcc-rp-initiated-logout-no-id-token-hint: the user does not return to the relying party', async () => {
    // Without the hint, the server does not know the client, so it ignores the address to which the user would return.
    const visit = await signIn();
    const confirmation = await requestSignOut(visit.browser, {
      post_logout_redirect_uri: postLogoutRedirectUri,
      state: 'st',
    });
    expect(confirmation).toMatchObject({ status: 200, title: expect.stringMatching(/sign out/i) });
    expect((await confirm(visit.browser, confirmation)).url.origin).toBe(server.origin);
  });
});
