// Runs the OpenID conformance plans "basic", "implicit", "form post basic" and "form post implicit", for a provider
// with discovery and static clients, and the plans "config", "RP-initiated logout" and "back-channel logout". Each test
// has the name of a module of the OpenID conformance suite; docs/conformance.md lists the results.
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { type ReceivedLogout, startLogoutReceiver, validateLogoutToken } from '../logout-receiver.ts';
import {
  codeModules,
  commonModules,
  implicitModules,
  responseTypeMissing,
  secretInBody,
  userinfoModules,
} from './modules.ts';
import {
  codeClient,
  createRelyingParty,
  postLogoutRedirectUri,
  redirectUri,
  startForRelyingParty,
} from './relying-party.ts';

const server = useFixture(() => startForRelyingParty({ OUTBOUND_ALLOW_NETWORKS: '127.0.0.0/8' }));

const basicPlan = [
  {
    variant: { responseType: 'code' },
    modules: { ...commonModules, ...userinfoModules, ...responseTypeMissing, ...codeModules },
  },
  { variant: { responseType: 'code', clientAuth: 'post' }, modules: secretInBody },
] as const;
const implicitPlan = [
  { variant: { responseType: 'id_token' }, modules: { ...commonModules, ...implicitModules } },
  {
    variant: { responseType: 'id_token token' },
    modules: { ...commonModules, ...implicitModules, ...userinfoModules, ...responseTypeMissing },
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

const metadataOf = async (from: { readonly origin: string }): Promise<Record<string, unknown>> => {
  const response = await fetch(`${from.origin}/.well-known/openid-configuration`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  return (await response.json()) as Record<string, unknown>;
};

describe('oidcc-config-certification-test-plan', () => {
  test('oidcc-discovery-endpoint-verification', async () => {
    const issuer = 'https://id.bay-booking.example';
    const httpsServer = await server.startInstance({ ISSUER: issuer });
    // discovery.test.ts compares the values of all metadata.
    const metadata = await metadataOf(httpsServer);
    expect(metadata.issuer).toBe(issuer);
    expect(metadata.id_token_signing_alg_values_supported).not.toContain('none');
    for (const [name, value] of Object.entries(metadata)) {
      if (/_endpoint$|_uri$/.test(name)) expect(value).toMatch(/^https:\/\/id\.bay-booking\.example\//);
    }
    // The characters that a scope may contain (RFC 6749 section 3.3)
    for (const scope of metadata.scopes_supported as string[]) expect(scope).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
  });
});

test('oidcc-idtoken-unsigned: no client can be registered for id_tokens without a signature', async () => {
  const client = { client_id: 'rp-unsigned', client_secret: 'x'.repeat(40), redirect_uris: [redirectUri] };
  await expect(server.load({ clients: [{ ...client, id_token_signed_response_alg: 'none' }] })).rejects.toThrow(
    /id_token_signed_response_alg/,
  );
});

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

  test('oidcc-rp-initiated-logout-discovery-endpoint-verification', async () => {
    expect(await metadataOf(server)).toMatchObject({ end_session_endpoint: `${server.origin}/connect/endsession` });
  });

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

describe('oidcc-backchannel-rp-initiated-logout-certification-test-plan', () => {
  // OpenID Connect Back-Channel Logout 1.0 section 2.8 recommends that the response to a logout token has the header
  // Cache-Control: no-store.
  const receiver = useFixture(() =>
    startLogoutReceiver((response) => response.setHeader('Cache-Control', 'no-store').end()),
  );
  // Replaces the settings of this client, which startForRelyingParty has registered.
  beforeAll(() =>
    server.load({
      clients: [
        {
          client_id: codeClient.id,
          client_secret: codeClient.secret,
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: [postLogoutRedirectUri],
          response_types: ['code'],
          scope: 'openid',
          backchannel_logout_uri: `${receiver.url}/backchannel_logout`,
          backchannel_logout_session_required: true,
        },
      ],
    }),
  );

  test('oidcc-backchannel-logout-discovery-endpoint-verification', async () => {
    expect(await metadataOf(server)).toMatchObject({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      end_session_endpoint: `${server.origin}/connect/endsession`,
    });
  });

  test('oidcc-backchannel-rp-initiated-logout', async () => {
    const rp = createRelyingParty(server, { responseType: 'code' });
    const browser = rp.newBrowser();
    const { claims, idToken } = await rp.expectTokens(await rp.authorize({}, { browser }));
    expect(claims.sid).toEqual(expect.any(String));
    const params = { id_token_hint: idToken, post_logout_redirect_uri: postLogoutRedirectUri, state: 'the-state' };
    const back = await browser.submit(`/connect/endsession?${new URLSearchParams(params)}`, {}, 'Sign out');
    expect(back.url.href).toBe(`${postLogoutRedirectUri}?state=the-state`);
    await server.auth.waitUntilIdle();
    expect(receiver.received).toHaveLength(1);
    const validation = { issuer: server.origin, clientId: codeClient.id };
    const token = await validateLogoutToken(receiver.received[0] as ReceivedLogout, validation);
    expect(token).toMatchObject({ sub: claims.sub, sid: claims.sid });
    rp.expectError(await rp.authorize({ prompt: 'none' }, { browser }), 'login_required');
  });
});
