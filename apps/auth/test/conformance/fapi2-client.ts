// Implements the client of the OpenID conformance plan "FAPI 2.0 Security Profile Final", as the public description of
// the plan defines it. The client authenticates with private_key_jwt and uses DPoP. It pushes its requests, sends an
// end user in a test browser through the pages, and checks every response.
import { randomBytes } from 'node:crypto';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { expect } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify } from 'jose';
import { scopes, startAuthServer, statusAndBody } from '../auth-server.ts';
import { pkce, player, redirectParameters, signInAndConsent } from '../flows.ts';
import { createKeyClient, type KeyClient } from '../key-client.ts';

export const redirectUri = 'https://rp.example/fapi2';

/** In the variant `openid_connect`, the client requests an id_token. In the variant `plain_oauth`, it requests none. */
export type Variant = 'openid_connect' | 'plain_oauth';

type Fapi2System = Awaited<ReturnType<typeof startFapi2System>>;

/**
 * `first` sends the requests of most tests. `second` has another key, and for example redeems a code that was issued to
 * `first`. `withRs256` signs its assertions with RS256, which FAPI 2.0 does not allow, so the server must reject them.
 */
export async function startFapi2System() {
  const server = await startAuthServer();
  const [first, second, withRs256] = await Promise.all([
    createKeyClient('fapi2-first', server.origin, 'ES256'),
    createKeyClient('fapi2-second', server.origin, 'PS256'),
    createKeyClient('fapi2-rs256', server.origin, 'RS256'),
  ]);
  await server.load({
    clients: [first, second, withRs256].map(({ clientId, publicJwk }) => ({
      client_id: clientId,
      profile: 'fapi2',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [redirectUri],
      jwks: { keys: [publicJwk] },
      scope: scopes.all.join(' '),
    })),
  });
  return { server, first, second, withRs256, close: server.close };
}

type Params = Readonly<Record<string, string | undefined>>;
type Body = Record<string, unknown>;

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: JWTPayload | undefined;
}

export interface TokenRequest {
  /** The client whose key signs the DPoP proof. Default: the client for which `createFapi2Client` was called. */
  readonly key?: KeyClient;
  /** The client that authenticates. Default: the client for which `createFapi2Client` was called. */
  readonly from?: KeyClient;
  /** Claims that replace the claims of the client assertion. */
  readonly assertion?: Body;
  /** The DPoP proof. If it is null, no proof is sent. Default: a proof that `key` signs. */
  readonly proof?: string | null;
}

export type Fapi2Client = ReturnType<typeof createFapi2Client>;

export const random = (bytes = 16): string => randomBytes(bytes).toString('base64url');
const withoutUndefined = (params: Params) =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as Record<string, string>;

/**
 * Returns the functions of the client, in the order of a flow: the pushed request, the pages in the browser, the token
 * endpoint and userinfo. `own` is the client that sends the requests, unless a request names another client in `from`.
 */
export function createFapi2Client(system: Fapi2System, variant: Variant, own: KeyClient = system.first) {
  const { server } = system;
  const isOpenid = variant === 'openid_connect';
  const tokenUrl = `${server.origin}/connect/token`;
  const userinfoUrl = `${server.origin}/connect/userinfo`;
  const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));

  /** Returns the default parameters of a request, overridden by `params`. Undefined parameters are left out. */
  const requestOf = (params: Params = {}): Record<string, string> =>
    withoutUndefined({
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: `${isOpenid ? 'openid profile ' : ''}offline_access ${scopes.play}`,
      state: random(),
      ...(isOpenid && { nonce: random() }),
      ...pkce.challenge,
      ...params,
    });

  /** Posts a form. Returns the status and the fields of the response in one object. */
  const post = async (path: string, form: Params, proof?: string): Promise<Body> =>
    statusAndBody(await server.post(path, withoutUndefined(form), proof === undefined ? undefined : { DPoP: proof }));

  /**
   * Pushes an authorization request. `assertion` contains claims that replace the claims of the client assertion.
   * Without `proof`, the request contains no DPoP proof.
   */
  const push = async (
    params: Params = {},
    { proof, assertion, from = own }: { proof?: string; assertion?: Body; from?: KeyClient } = {},
  ): Promise<Body> => post('/connect/par', { ...requestOf(params), ...(await from.authenticate(assertion)) }, proof);

  const newBrowser = (): FormBrowser => openFormBrowser([server.origin]);
  const open = (params: Record<string, string>, browser = newBrowser()): Promise<Page> =>
    browser.open(`/connect/authorize?${new URLSearchParams(params)}`);
  /** Opens a pushed request. `outside` contains parameters that are sent with the `request_uri` and are not pushed. */
  const openPushed = (pushed: Body, browser?: FormBrowser, outside: Record<string, string> = {}): Promise<Page> =>
    open({ client_id: own.clientId, request_uri: String(pushed.request_uri), ...outside }, browser);

  /** Signs in and consents. Returns the parameters at the redirect URI. */
  const finish = async (browser: FormBrowser, page: Page): Promise<Record<string, string>> => {
    const last = await signInAndConsent(browser, page, player);
    expect(last.url.href.split('?')[0]).toBe(redirectUri);
    const response = redirectParameters(last);
    expect(response.iss).toBe(server.origin);
    return response;
  };

  /** Runs an authorization request, and returns the parameters at the redirect URI. */
  const authorize = async (
    params: Params = {},
    { proof, outside = {} }: { proof?: string; outside?: Record<string, string> } = {},
  ): Promise<Record<string, string>> => {
    const browser = newBrowser();
    const pushed = await push(params, proof === undefined ? {} : { proof });
    expect(pushed).toMatchObject({ status: 201, expires_in: 60 });
    return finish(browser, await openPushed(pushed, browser, outside));
  };

  const token = async (form: Params, { key = own, from = own, assertion, proof }: TokenRequest = {}): Promise<Body> =>
    post(
      '/connect/token',
      { ...form, ...(await from.authenticate(assertion)) },
      proof === null ? undefined : (proof ?? (await key.proof(tokenUrl))),
    );

  /** Returns the form with which a client redeems an authorization code. */
  const codeForm = (code: string | undefined): Record<string, string> => ({
    grant_type: 'authorization_code',
    code: String(code),
    redirect_uri: redirectUri,
    code_verifier: pkce.verifier,
  });
  const redeem = (code: string | undefined, request?: TokenRequest) => token(codeForm(code), request);
  const refresh = (refreshToken: string, request?: TokenRequest) =>
    token({ grant_type: 'refresh_token', refresh_token: refreshToken }, request);

  /**
   * Checks a successful token response (FAPI 2.0 Security Profile section 5.3.2), and returns its tokens.
   * `key` is the client whose DPoP key the access token must be bound to.
   */
  const expectTokens = async (response: Body, { key = own, nonce }: { key?: KeyClient; nonce?: string } = {}) => {
    expect(response).toMatchObject({ status: 200, token_type: 'DPoP', expires_in: expect.any(Number) });
    const accessToken = String(response.access_token);
    expect(decodeJwt(accessToken).cnf).toEqual({ jkt: key.thumbprint });
    expect('id_token' in response).toBe(isOpenid);
    const options = { issuer: server.origin, audience: own.clientId, algorithms: ['ES256'] };
    const idToken = isOpenid ? (await jwtVerify(String(response.id_token), keys, options)).payload : undefined;
    if (nonce !== undefined) expect(idToken?.nonce).toBe(nonce);
    return { accessToken, refreshToken: String(response.refresh_token), idToken } as Tokens;
  };

  const obtainTokens = async (params: Params = {}): Promise<Tokens> =>
    expectTokens(await redeem((await authorize(params)).code));

  /**
   * Requests userinfo, the protected resource of this server, and returns the status. If `proof` is null, no proof is
   * sent. Default: a proof for this request.
   */
  const userinfo = async (
    accessToken: string,
    { proof, scheme = 'DPoP' }: { proof?: string | null; scheme?: string } = {},
  ): Promise<number> => {
    const sentProof = proof === undefined ? await own.proof(userinfoUrl, { method: 'GET', accessToken }) : proof;
    const headers = { Authorization: `${scheme} ${accessToken}`, ...(sentProof !== null && { DPoP: sentProof }) };
    return (await fetch(userinfoUrl, { headers })).status;
  };

  return {
    ...system,
    own,
    isOpenid,
    tokenUrl,
    userinfoUrl,
    requestOf,
    post,
    push,
    newBrowser,
    open,
    openPushed,
    finish,
    authorize,
    token,
    codeForm,
    redeem,
    refresh,
    expectTokens,
    obtainTokens,
    userinfo,
  };
}
