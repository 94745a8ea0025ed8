// Implements the relying party that the public OpenID conformance plans describe. It uses clients of the demo, sends an
// end user in a test browser to the authorization endpoint, and checks every response by the rules of OpenID Connect
// Core.
import { createHash, randomBytes } from 'node:crypto';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { expect } from '@jest/globals';
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { type AuthServer, basic, statusAndBody } from '../auth-server.ts';
import { authorizeUrl, player, webCallback } from '../flows.ts';

/**
 * The variant of a conformance test plan: the values of response_type and response_mode, and how the client sends its
 * secret.
 */
export interface Variant {
  readonly responseType: 'code' | 'id_token' | 'id_token token';
  readonly responseMode?: 'form_post';
  readonly clientAuth?: 'basic' | 'post';
}

export const codeClient = { id: 'demo-web', secret: 'demo-web-secret', redirectUri: webCallback };
export const secondClient = { id: 'demo-range', secret: 'demo-range-secret' };
export const implicitClient = { id: 'demo-spa', redirectUri: 'http://localhost:4010/spa' };

export interface AuthorizationResponse {
  /** How the parameters reached the redirect URI. Undefined if the end user did not return to the redirect URI. */
  readonly via?: 'query' | 'fragment' | 'form_post';
  readonly params: URLSearchParams;
  /** The pages that the end user saw before returning. */
  readonly seen: readonly ('sign-in' | 'consent')[];
  /** The last page of the flow. Its status is 0 if it is the redirect URI, which the test browser does not open. */
  readonly page: Page;
  /** The parameters of the authorization request. */
  readonly sent: Readonly<Record<string, string>>;
}

export interface Tokens {
  readonly claims: JWTPayload;
  readonly idToken: string;
  readonly accessToken: string | undefined;
  readonly refreshToken: string | undefined;
}

export type RelyingParty = ReturnType<typeof createRelyingParty>;

const random = (): string => randomBytes(16).toString('base64url');

export function createRelyingParty(server: AuthServer, variant: Variant) {
  const { responseType, responseMode, clientAuth = 'basic' } = variant;
  const isCode = responseType === 'code';
  const client = isCode ? codeClient : implicitClient;
  const newBrowser = (): FormBrowser => openFormBrowser([server.origin]);
  const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));

  /** Returns the default parameters of a request, overridden by `params`. Undefined parameters are left out. */
  const requestOf = (params: Record<string, string | undefined> = {}): Record<string, string> => {
    const all: Record<string, string | undefined> = {
      // The first `...params` fixes the order of the parameters, because one test sends all of them in reverse order.
      // The second `...params` overrides the default values.
      ...params,
      client_id: client.id,
      redirect_uri: client.redirectUri,
      response_type: responseType,
      scope: 'openid',
      state: random(),
      nonce: random(),
      ...(responseMode && { response_mode: responseMode }),
      ...params,
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<string, string>;
  };

  /** Sends an authorization request with GET or POST. */
  const authorize = async (
    params: Record<string, string | undefined> = {},
    { browser = newBrowser(), post = false }: { browser?: FormBrowser; post?: boolean } = {},
  ): Promise<AuthorizationResponse> => {
    const sent = requestOf(params);
    const posted = post ? await server.post('/connect/authorize', sent) : undefined;
    return finish(browser, await browser.open(posted?.headers.get('location') ?? authorizeUrl(server, sent)), sent);
  };

  const redeem = async (code: string): Promise<Record<string, unknown>> => {
    const { id, secret, redirectUri } = codeClient;
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    return statusAndBody(
      clientAuth === 'basic'
        ? await server.post('/connect/token', form, basic(id, secret))
        : await server.post('/connect/token', { ...form, client_id: id, client_secret: secret }),
    );
  };

  const refresh = async (
    token: string,
    { id, secret }: { id: string; secret: string } = codeClient,
  ): Promise<Record<string, unknown>> =>
    server.token({ grant_type: 'refresh_token', refresh_token: token }, basic(id, secret));

  /** Checks an id_token (OpenID Connect Core section 3.1.3.7). By default, id_tokens are signed with RS256. */
  const checkIdToken = async (
    idToken: string,
    { nonce, accessToken }: { nonce?: string | undefined; accessToken?: string | undefined },
  ): Promise<JWTPayload> => {
    const { payload, protectedHeader } = await jwtVerify(idToken, keys, {
      issuer: server.origin,
      audience: client.id,
      algorithms: ['RS256'],
      requiredClaims: ['sub', 'iat', 'exp'],
      maxTokenAge: '1 minute',
    });
    expect(protectedHeader.kid).toEqual(expect.any(String));
    expect(payload.nonce).toBe(nonce);
    expect(String(payload.sub).length).toBeLessThanOrEqual(255);
    // `at_hash` is the first half of the SHA-256 of the access token. It is mandatory in the implicit flow.
    if (payload.at_hash !== undefined || (accessToken && !isCode)) {
      const halfOfHash = createHash('sha256').update(String(accessToken)).digest().subarray(0, 16);
      expect(payload.at_hash).toBe(halfOfHash.toString('base64url'));
    }
    return payload;
  };

  /** Checks where the response arrived, its state and its issuer. */
  const checkDelivery = ({ params, sent, via }: AuthorizationResponse): void => {
    expect(via).toBe(responseMode ?? (isCode ? 'query' : 'fragment'));
    expect(params.get('state')).toBe(sent.state ?? null);
    if (params.has('iss')) expect(params.get('iss')).toBe(server.origin);
  };

  /** Checks a successful response, redeems its code if it has one, and checks and returns the tokens. */
  const expectTokens = async (response: AuthorizationResponse): Promise<Tokens> => {
    checkDelivery(response);
    expect(Object.fromEntries(response.params)).not.toHaveProperty('error');
    const { params, sent } = response;
    const tokenResponse: Record<string, unknown> = isCode
      ? await redeem(params.get('code') ?? '')
      : { status: 200, ...Object.fromEntries(params) };
    expect(tokenResponse).toMatchObject({ status: 200, id_token: expect.any(String) });
    if (responseType !== 'id_token') {
      expect(String(tokenResponse.token_type)).toMatch(/^bearer$/i);
      expect(Number(tokenResponse.expires_in)).toBeGreaterThan(0);
    } else expect(tokenResponse).not.toHaveProperty('access_token');
    const accessToken = tokenResponse.access_token as string | undefined;
    const idToken = String(tokenResponse.id_token);
    return {
      claims: await checkIdToken(idToken, { nonce: sent.nonce, accessToken }),
      idToken,
      accessToken,
      refreshToken: tokenResponse.refresh_token as string | undefined,
    };
  };

  /**
   * Checks an error response at the redirect URI. RFC 6749 section 4.1.2.1 lists the characters that
   * `error_description` may contain.
   */
  const expectError = (response: AuthorizationResponse, code: string | RegExp): void => {
    checkDelivery(response);
    expect(response.params.get('error')).toMatch(code);
    expect(response.params.get('error_description') ?? '').toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/);
    for (const name of ['code', 'access_token', 'id_token']) expect(response.params.has(name)).toBe(false);
  };

  const userinfo = async (accessToken: string | undefined): Promise<Record<string, unknown>> =>
    statusAndBody(await server.userinfo(accessToken));

  return {
    server,
    variant,
    newBrowser,
    requestOf,
    authorize,
    expectTokens,
    expectError,
    refresh,
    userinfo,
    checkIdToken,
  };
}

/** Signs in and consents when a page requires it. Returns the response that arrives at the redirect URI. */
async function finish(browser: FormBrowser, first: Page, sent: Record<string, string>): Promise<AuthorizationResponse> {
  const seen: ('sign-in' | 'consent')[] = [];
  let page = first;
  // A flow has at most one sign-in page and one consent page. The limit ends a flow that shows them again and again.
  for (let step = 0; step < 4; step += 1) {
    const fields = new Set(page.forms.flatMap((form) => form.fields.map(({ name }) => name)));
    if (page.status === 200 && fields.has('password')) {
      seen.push('sign-in');
      page = await browser.send(page, player);
    } else if (page.status === 200 && page.html.includes('name="decision"')) {
      seen.push('consent');
      page = await browser.send(page, {}, { name: 'decision', value: 'allow' });
    } else break;
  }
  const posted = page.forms.find(({ action }) => action === sent.redirect_uri);
  if (posted) {
    expect(posted.method.toLowerCase()).toBe('post');
    const params = new URLSearchParams(posted.fields.map(({ name, value }) => [name, value] as [string, string]));
    // The submit button is an `<input>` without a name, so it is among the fields.
    params.delete('');
    return { via: 'form_post', params, seen, page, sent };
  }
  // The test browser does not open the redirect URI. After a redirect to this URI, `page.status` is 0. Every other
  // page comes from the server.
  if (page.status !== 0) return { params: new URLSearchParams(), seen, page, sent };
  expect(page.url.href.split(/[?#]/)[0]).toBe(sent.redirect_uri);
  return page.url.hash
    ? { via: 'fragment', params: new URLSearchParams(page.url.hash.slice(1)), seen, page, sent }
    : { via: 'query', params: page.url.searchParams, seen, page, sent };
}
