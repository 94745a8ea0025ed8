// The relying party of the OpenID conformance plans, re-implemented from their public descriptions: registered as static clients, it
// sends an end user in a browser through the authorization endpoint and judges every answer as OpenID Connect Core asks it to.
import { createHash, randomBytes } from 'node:crypto';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { expect } from '@jest/globals';
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { type AuthServer, basic, scopes, startAuthServer, statusAndBody } from '../auth-server.ts';

export interface Variant {
  readonly responseType: 'code' | 'id_token' | 'id_token token';
  readonly responseMode?: 'form_post';
  readonly clientAuth?: 'basic' | 'post';
}

export const redirectUri = 'https://rp.example/callback';
export const postLogoutRedirectUri = 'https://rp.example/signed-out';
const endUser = { username: 'player@example.com', password: 'demo-player-pass' };
export const codeClient = { id: 'rp-code', secret: 'the-secret-of-rp-code-0123456789abcdef' };
export const secondClient = { id: 'rp-second', secret: 'the-secret-of-rp-second-0123456789abc' };
const implicitClient = { id: 'rp-implicit' };

export async function startForRelyingParty(environment: Record<string, string> = {}): Promise<AuthServer> {
  const server = await startAuthServer({ LOCKOUT_SLOW_DOWN_MS: '0', ...environment });
  const common = { redirect_uris: [redirectUri], scope: scopes.all.join(' ') };
  await server.load({
    clients: [
      ...[codeClient, secondClient].map(({ id, secret }) => ({
        ...common,
        client_id: id,
        client_secret: secret,
        post_logout_redirect_uris: [postLogoutRedirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      })),
      {
        ...common,
        client_id: implicitClient.id,
        token_endpoint_auth_method: 'none',
        grant_types: ['implicit'],
        response_types: ['id_token', 'id_token token', 'token'],
      },
    ],
  });
  return server;
}

/** What came back to the redirect URI, and which pages the end user saw on the way; `page` where it ended at the provider. */
export interface Answer {
  readonly via?: 'query' | 'fragment' | 'form_post';
  readonly params: URLSearchParams;
  readonly seen: readonly ('sign-in' | 'consent')[];
  readonly page: Page;
  readonly sent: Readonly<Record<string, string>>;
}

export interface Tokens {
  readonly claims: JWTPayload;
  readonly idToken: string;
  readonly accessToken: string | undefined;
  readonly refreshToken: string | undefined;
  readonly scope: string | undefined;
}

export type RelyingParty = ReturnType<typeof createRelyingParty>;

const random = (): string => randomBytes(16).toString('base64url');
export const newBrowser = (server: AuthServer): FormBrowser => openFormBrowser([server.origin]);

export function createRelyingParty(server: AuthServer, variant: Variant) {
  const { responseType, responseMode, clientAuth = 'basic' } = variant;
  const isCode = responseType === 'code';
  const client = isCode ? codeClient : implicitClient;
  const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));

  /** `undefined` leaves a parameter out. */
  const requestOf = (params: Record<string, string | undefined> = {}): Record<string, string> => {
    const all: Record<string, string | undefined> = {
      client_id: client.id,
      redirect_uri: redirectUri,
      response_type: responseType,
      scope: 'openid',
      state: random(),
      nonce: random(),
      ...(responseMode && { response_mode: responseMode }),
      ...params,
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<string, string>;
  };

  const finish = async (browser: FormBrowser, first: Page, sent: Record<string, string>): Promise<Answer> => {
    const seen: ('sign-in' | 'consent')[] = [];
    let page = first;
    for (let step = 0; step < 4; step += 1) {
      const fields = new Set(page.forms.flatMap((form) => form.fields.map(({ name }) => name)));
      if (page.status === 200 && fields.has('password')) {
        seen.push('sign-in');
        page = await browser.send(page, endUser);
      } else if (page.status === 200 && page.html.includes('name="decision"')) {
        seen.push('consent');
        page = await browser.send(page, {}, { name: 'decision', value: 'allow' });
      } else break;
    }
    const posted = page.forms.find(({ action }) => action === redirectUri);
    if (posted) {
      expect(posted.method.toLowerCase()).toBe('post');
      const params = new URLSearchParams(posted.fields.map(({ name, value }) => [name, value] as [string, string]));
      return { via: 'form_post', params: withoutSubmit(params), seen, page, sent };
    }
    if (page.status !== 0) return { params: new URLSearchParams(), seen, page, sent };
    expect(page.url.href.split(/[?#]/)[0]).toBe(redirectUri);
    return page.url.hash
      ? { via: 'fragment', params: new URLSearchParams(page.url.hash.slice(1)), seen, page, sent }
      : { via: 'query', params: page.url.searchParams, seen, page, sent };
  };

  const authorize = async (
    params: Record<string, string | undefined> = {},
    { browser = newBrowser(server), post = false }: { browser?: FormBrowser; post?: boolean } = {},
  ): Promise<Answer> => {
    const sent = requestOf(params);
    const address = `${server.origin}/connect/authorize`;
    if (!post) return finish(browser, await browser.open(`${address}?${new URLSearchParams(sent)}`), sent);
    const fields = Object.entries(sent).map(([name, value]) => ({ name, value, type: 'hidden', checked: false }));
    const ownPage = { url: new URL('https://rp.example/start'), status: 200, headers: new Headers(), html: '' };
    const form = { action: address, method: 'post', fields, buttons: [] };
    return finish(browser, await browser.send({ ...ownPage, title: '', links: [], forms: [form] }, {}), sent);
  };

  const redeem = async (
    code: string,
    { id, secret } = codeClient,
    more: Record<string, string> = {},
  ): Promise<Record<string, unknown>> => {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...more };
    return statusAndBody(
      clientAuth === 'basic'
        ? await server.post('/connect/token', form, basic(id, secret))
        : await server.post('/connect/token', { ...form, client_id: id, client_secret: secret }),
    );
  };

  const refresh = async (token: string, { id, secret } = codeClient): Promise<Record<string, unknown>> =>
    statusAndBody(
      await server.post('/connect/token', { grant_type: 'refresh_token', refresh_token: token }, basic(id, secret)),
    );

  /** OpenID Connect Core section 3.1.3.7; the algorithm is RS256 where none was registered. */
  const judgeIdToken = async (
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
    if (payload.at_hash !== undefined || (accessToken && !isCode)) {
      const half = createHash('sha256').update(String(accessToken)).digest().subarray(0, 16);
      expect(payload.at_hash).toBe(half.toString('base64url'));
    }
    return payload;
  };

  const isFrom = ({ params, sent, via }: Answer): void => {
    expect(via).toBe(responseMode ?? (isCode ? 'query' : 'fragment'));
    expect(params.get('state')).toBe(sent.state ?? null);
    if (params.has('iss')) expect(params.get('iss')).toBe(server.origin);
  };

  /** A successful answer, its tokens fetched and judged. */
  const accept = async (answer: Answer, more: Record<string, string> = {}): Promise<Tokens> => {
    isFrom(answer);
    expect(Object.fromEntries(answer.params)).not.toHaveProperty('error');
    const { params, sent } = answer;
    const response: Record<string, unknown> = isCode
      ? await redeem(params.get('code') ?? '', codeClient, more)
      : { status: 200, ...Object.fromEntries(params) };
    expect(response).toMatchObject({ status: 200, id_token: expect.any(String) });
    if (responseType !== 'id_token') {
      expect(String(response.token_type)).toMatch(/^bearer$/i);
      expect(Number(response.expires_in)).toBeGreaterThan(0);
    } else expect(response).not.toHaveProperty('access_token');
    const accessToken = response.access_token as string | undefined;
    const idToken = String(response.id_token);
    return {
      claims: await judgeIdToken(idToken, { nonce: sent.nonce, accessToken }),
      idToken,
      accessToken,
      refreshToken: response.refresh_token as string | undefined,
      scope: response.scope as string | undefined,
    };
  };

  /** An error that came back to the redirect URI as RFC 6749 section 4.1.2.1 has it, without a code or a token. */
  const refused = (answer: Answer, code: string | RegExp): void => {
    isFrom(answer);
    expect(answer.params.get('error')).toMatch(code);
    expect(answer.params.get('error_description') ?? '').toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/);
    for (const name of ['code', 'access_token', 'id_token']) expect(answer.params.has(name)).toBe(false);
  };

  const userinfo = async (accessToken: string | undefined, init: RequestInit = {}): Promise<Record<string, unknown>> =>
    statusAndBody(
      await fetch(`${server.origin}/connect/userinfo`, {
        headers: { Authorization: `Bearer ${accessToken}` },
        ...init,
      }),
    );

  return { server, variant, client, requestOf, authorize, accept, refused, redeem, refresh, userinfo, judgeIdToken };
}

function withoutSubmit(params: URLSearchParams): URLSearchParams {
  params.delete('');
  return params;
}
