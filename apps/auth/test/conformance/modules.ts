// Implements the modules of the OpenID conformance plans "basic", "implicit" and "form post". The names of the modules
// are those of the conformance suite, and each module follows its public description. docs/conformance.md lists which
// plan runs which module, and the results.
import { expect } from '@jest/globals';
import { ageSignIns } from '../test-users.ts';
import { type AuthorizationResponse, type RelyingParty, secondClient, type Tokens } from './relying-party.ts';

type Module = (rp: RelyingParty) => Promise<void>;
type Modules = Readonly<Record<string, Module>>;

/** Checks that an authorization request with these parameters returns valid tokens. `rp` is the relying party. */
const succeeds =
  (params: Record<string, string>, options: { post?: boolean } = {}): Module =>
  async (rp) => {
    await rp.expectTokens(await rp.authorize(params, options));
  };

/**
 * Checks that the id_token contains the claims of the requested scopes. If there is an access token, also checks that
 * userinfo returns these claims (OpenID Connect Core section 5.4).
 */
const returnsClaims =
  (params: Record<string, string>, claims: Record<string, unknown>): Module =>
  async (rp) => {
    const tokens = await rp.expectTokens(await rp.authorize(params));
    expect(tokens.claims).toMatchObject(claims);
    if (tokens.accessToken === undefined) return;
    expect(await rp.userinfo(tokens.accessToken)).toEqual({ status: 200, sub: tokens.claims.sub, ...claims });
  };

const profile = { name: 'Pat Player', preferred_username: 'player@example.com' };
const email = { email: 'player@example.com', email_verified: true };

/**
 * Sends two requests in one browser. The end user signs in for the first request, and `secondsBetween` pass before the
 * second request. By default, more time passes than the `max_age` of 1 that a module requests.
 */
async function requestTwice(
  rp: RelyingParty,
  first: Record<string, string>,
  second: Record<string, string> | ((tokens: Tokens) => Record<string, string>),
  secondsBetween = 3,
): Promise<{ before: Tokens; response: AuthorizationResponse }> {
  const browser = rp.newBrowser();
  const before = await rp.expectTokens(await rp.authorize(first, { browser }));
  if (secondsBetween > 0) await ageSignIns(rp.server, secondsBetween);
  const params = typeof second === 'function' ? second(before) : second;
  return { before, response: await rp.authorize(params, { browser }) };
}

/** Expects that the second request showed no page to the end user, and returned tokens of the same end user. */
async function expectSameEndUser(rp: RelyingParty, before: Tokens, response: AuthorizationResponse): Promise<Tokens> {
  expect(response.seen).toEqual([]);
  const after = await rp.expectTokens(response);
  expect(after.claims.sub).toBe(before.claims.sub);
  return after;
}

/** Returns an unsigned request object (OpenID Connect Core section 6.1). */
const requestObject = (claims: object): string =>
  `${[{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;

/** The modules that each plan runs with each of its response types. */
export const commonModules = {
  'oidcc-server': async (rp) => {
    const response = await rp.authorize();
    expect(response.seen[0]).toBe('sign-in');
    const { accessToken, claims } = await rp.expectTokens(response);
    for (const claim of ['name', 'email', 'roles']) expect(claims).not.toHaveProperty(claim);
    if (accessToken) expect(await rp.userinfo(accessToken)).toEqual({ status: 200, sub: claims.sub });
  },
  // `succeeds` also verifies the signature.
  'oidcc-idtoken-signature': succeeds({}),
  'oidcc-scope-profile': returnsClaims({ scope: 'openid profile' }, profile),
  'oidcc-scope-email': returnsClaims({ scope: 'openid email' }, email),
  'oidcc-scope-address': async (rp) => rp.expectError(await rp.authorize({ scope: 'openid address' }), 'invalid_scope'),
  'oidcc-scope-phone': async (rp) => rp.expectError(await rp.authorize({ scope: 'openid phone' }), 'invalid_scope'),
  'oidcc-scope-all': async (rp) => {
    await returnsClaims({ scope: 'openid profile email roles' }, { ...profile, ...email, roles: ['player'] })(rp);
    rp.expectError(await rp.authorize({ scope: 'openid profile email address phone' }), 'invalid_scope');
  },
  'oidcc-alternate-happy-flow': async (rp) => {
    // The parameters are sent in reverse order.
    const reversed = Object.fromEntries(Object.entries({ ...rp.requestOf(), scope: 'email openid' }).reverse());
    const response = await rp.authorize(reversed);
    const names = Object.keys(response.sent);
    expect(names.indexOf('scope')).toBeLessThan(names.indexOf('client_id'));
    const tokens = await rp.expectTokens(response);
    expect(tokens.claims).toMatchObject(email);
  },
  'oidcc-display-page': succeeds({ display: 'page' }),
  'oidcc-display-popup': succeeds({ display: 'popup' }),
  'oidcc-prompt-login': async (rp) => {
    const { before, response } = await requestTwice(rp, { max_age: '15000' }, { prompt: 'login', max_age: '15000' });
    expect(response.seen).toEqual(['sign-in']);
    const { claims } = await rp.expectTokens(response);
    expect(claims.sub).toBe(before.claims.sub);
    // `requestTwice` has moved the sign-in of the session into the past. A later auth_time proves a new sign-in.
    expect(Number(claims.auth_time)).toBeGreaterThanOrEqual(Number(before.claims.auth_time));
  },
  'oidcc-prompt-none-not-logged-in': async (rp) => {
    // The module of the suite sends a long `state`, which the error response must contain unchanged.
    const response = await rp.authorize({ prompt: 'none', state: 's'.repeat(128) });
    rp.expectError(response, /^(login|interaction|consent|account_selection)_required$/);
  },
  'oidcc-prompt-none-logged-in': async (rp) => {
    const { before, response } = await requestTwice(rp, {}, { prompt: 'none' });
    await expectSameEndUser(rp, before, response);
  },
  'oidcc-max-age-1': async (rp) => {
    const { before, response } = await requestTwice(rp, {}, { max_age: '1' });
    expect(response.seen).toEqual(['sign-in']);
    const { claims } = await rp.expectTokens(response);
    expect(claims.sub).toBe(before.claims.sub);
    expect(Number(claims.auth_time)).toBeGreaterThan(Date.now() / 1000 - 60);
  },
  'oidcc-max-age-10000': async (rp) => {
    const { before, response } = await requestTwice(rp, { max_age: '15000' }, { max_age: '10000' }, 0);
    const after = await expectSameEndUser(rp, before, response);
    expect(after.claims.auth_time).toEqual(expect.any(Number));
    expect(after.claims.auth_time).toBe(before.claims.auth_time);
  },
  'oidcc-ensure-request-with-unknown-parameter-succeeds': succeeds({ extra: 'foobar' }),
  'oidcc-id-token-hint': async (rp) => {
    const { before, response } = await requestTwice(rp, {}, ({ idToken }) => ({
      prompt: 'none',
      id_token_hint: idToken,
    }));
    await expectSameEndUser(rp, before, response);
  },
  'oidcc-login-hint': succeeds({ login_hint: 'buffy@rp.example' }),
  'oidcc-ui-locales': succeeds({ ui_locales: 'se' }),
  'oidcc-claims-locales': succeeds({ claims_locales: 'se' }),
  'oidcc-ensure-request-with-acr-values-succeeds': succeeds({ acr_values: '1 2' }),
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported': async (rp) =>
    rp.expectError(await rp.authorize({ request_uri: 'https://rp.example/request.jwt' }), 'request_uri_not_supported'),
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported': async (rp) =>
    rp.expectError(await rp.authorize({ request: requestObject(rp.requestOf()) }), 'request_not_supported'),
  'oidcc-ensure-request-object-with-redirect-uri': async (rp) => {
    const request = requestObject(rp.requestOf());
    const { page, via } = await rp.authorize({ request, redirect_uri: 'http://localhost:4010/other' });
    // The user sees the error on a page, and is not redirected.
    expect({ via, status: page.status }).toEqual({ via: undefined, status: 400 });
    expect(page.html).toContain('redirect_uri');
  },
  'oidcc-claims-essential': async (rp) => {
    const target = rp.variant.responseType === 'id_token' ? 'id_token' : 'userinfo';
    const claims = JSON.stringify({ [target]: { name: { essential: true } } });
    const tokens = await rp.expectTokens(await rp.authorize({ claims }));
    expect(tokens.claims).not.toHaveProperty('name');
  },
} satisfies Modules;

/** The module whose request has no response type. Each plan therefore runs it in only one of its variants. */
export const responseTypeMissing = {
  'oidcc-response-type-missing': async (rp) => {
    const { response_type: _, response_mode: __, ...params } = rp.requestOf();
    const page = await rp.newBrowser().open(`${rp.server.origin}/connect/authorize?${new URLSearchParams(params)}`);
    // The error is in a redirect to the client, which the test browser does not follow (status 0), or on a page.
    expect(page.status === 0 ? page.url.searchParams.get('error') : page.html).toContain('invalid_request');
  },
} satisfies Modules;

export const codeModules = {
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow': async (rp) => {
    await rp.expectTokens(await rp.authorize({ nonce: undefined }));
  },
  'oidcc-ensure-post-request-succeeds': succeeds({}, { post: true }),
  'oidcc-refresh-token': async (rp) => {
    const scope = 'openid offline_access';
    const first = await rp.expectTokens(await rp.authorize({ scope, prompt: 'consent' }));
    expect(first.refreshToken).toMatch(/^[\x20-\x7e]+$/);
    const second = await rp.refresh(String(first.refreshToken));
    expect(second).toMatchObject({ status: 200, access_token: expect.any(String), refresh_token: expect.any(String) });
    expect(second.access_token).not.toBe(first.accessToken);
    const claims = await rp.checkIdToken(String(second.id_token), { nonce: first.claims.nonce as string });
    for (const claim of ['iss', 'sub', 'aud', 'auth_time']) expect(claims[claim]).toEqual(first.claims[claim]);
    expect(await rp.userinfo(String(second.access_token))).toMatchObject({ status: 200, sub: claims.sub });
    expect(await rp.refresh(String(second.refresh_token), secondClient)).toMatchObject({
      status: 400,
      error: 'invalid_grant',
    });
  },
} satisfies Modules;

export const secretInBody = {
  // The variant of `rp` decides that the client sends its secret in the body of the token request.
  'oidcc-server-client-secret-post': succeeds({}),
} satisfies Modules;

export const implicitModules = {
  'oidcc-ensure-request-without-nonce-fails': async (rp) =>
    rp.expectError(await rp.authorize({ nonce: undefined }), 'invalid_request'),
} satisfies Modules;
