// Implements the client of the OpenID conformance plan "FAPI 2.0 Security Profile Final", as the public description of
// the plan defines it. The client authenticates with private_key_jwt and uses DPoP. It pushes its requests, sends an
// end user in a test browser through the pages, and checks every response.
import { randomBytes } from 'node:crypto';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { expect } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { type AuthServer, scopes, statusAndBody } from '../auth-server.ts';
import { authorizeUrl, openBrowser, pkce, redirectParameters, signInAndConsent } from '../flows.ts';
import type { KeyClient } from '../key-client.ts';

export const redirectUri = 'https://rp.example/fapi2';

type Params = Readonly<Record<string, string | undefined>>;
type Body = Record<string, unknown>;

interface TokenRequest {
  /** The client whose key signs the DPoP proof. Default: the client itself. */
  readonly key?: KeyClient;
  /** The client that authenticates. Default: the client itself. */
  readonly from?: KeyClient;
  /** If it is null, no proof is sent. */
  readonly proof?: null;
}

export const random = (bytes = 16): string => randomBytes(bytes).toString('base64url');
const withoutUndefined = (params: Params) =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as Record<string, string>;

/** Returns the functions of the client, in the order of a flow: the pushed request, the pages, the token endpoint. */
export function createFapi2Client(server: AuthServer, own: KeyClient) {
  const tokenUrl = `${server.origin}/connect/token`;
  const userinfoUrl = `${server.origin}/connect/userinfo`;
  const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));

  /** Returns the default parameters of a request, overridden by `params`. Undefined parameters are left out. */
  const requestOf = (params: Params = {}): Record<string, string> =>
    withoutUndefined({
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: `openid profile offline_access ${scopes.play}`,
      state: random(),
      nonce: random(),
      ...pkce.challenge,
      ...params,
    });

  /** Posts a form. Returns the status and the fields of the response in one object. */
  const post = async (path: string, form: Params, proof?: string): Promise<Body> =>
    statusAndBody(await server.post(path, withoutUndefined(form), proof === undefined ? undefined : { DPoP: proof }));

  const proofAtPar = () => own.proof(`${server.origin}/connect/par`);
  /** Pushes a request. `assertion` has claims that replace those of the client assertion. */
  const push = async (
    params: Params = {},
    { proof, assertion, from = own }: { proof?: string; assertion?: Body; from?: KeyClient } = {},
  ): Promise<Body> => post('/connect/par', { ...requestOf(params), ...(await from.authenticate(assertion)) }, proof);

  /** Opens a pushed request. `outside` has parameters that are sent with the `request_uri` and are not pushed. */
  const openPushed = (
    pushed: Body,
    browser: FormBrowser = openBrowser(server),
    outside: Record<string, string> = {},
  ): Promise<Page> => {
    const request = { client_id: own.clientId, request_uri: String(pushed.request_uri) };
    return browser.open(authorizeUrl(server, { ...request, ...outside }));
  };

  /** Signs in and consents. Returns the parameters at the redirect URI. */
  const finish = async (browser: FormBrowser, pushed: Body, outside?: Record<string, string>) => {
    expect(pushed).toMatchObject({ status: 201, expires_in: 60 });
    const last = await signInAndConsent(browser, await openPushed(pushed, browser, outside));
    expect(last.url.href.split('?')[0]).toBe(redirectUri);
    expect(redirectParameters(last).iss).toBe(server.origin);
    return redirectParameters(last);
  };

  /** Runs an authorization request, and returns the parameters at the redirect URI. */
  const authorize = async (
    params: Params = {},
    { proof, outside }: { proof?: string; outside?: Record<string, string> } = {},
  ) => finish(openBrowser(server), await push(params, proof === undefined ? {} : { proof }), outside);

  const token = async (form: Params, { key = own, from = own, proof }: TokenRequest = {}): Promise<Body> =>
    post(
      '/connect/token',
      { ...form, ...(await from.authenticate()) },
      proof === null ? undefined : await key.proof(tokenUrl),
    );
  const codeForm = (code: string | undefined) => ({
    grant_type: 'authorization_code',
    code: String(code),
    redirect_uri: redirectUri,
    code_verifier: pkce.verifier,
  });
  const redeem = (code: string | undefined, request?: TokenRequest) => token(codeForm(code), request);

  /**
   * Checks a successful token response (FAPI 2.0 Security Profile section 5.3.2), and returns its tokens.
   * `key` is the client whose DPoP key the access token must be bound to.
   */
  const expectTokens = async (response: Body, { key = own, nonce }: { key?: KeyClient; nonce?: string } = {}) => {
    expect(response).toMatchObject({ status: 200, token_type: 'DPoP', expires_in: expect.any(Number) });
    const accessToken = String(response.access_token);
    expect(decodeJwt(accessToken).cnf).toEqual({ jkt: key.thumbprint });
    const isOpenid = String(response.scope).startsWith('openid');
    expect('id_token' in response).toBe(isOpenid);
    const rules = { issuer: server.origin, audience: own.clientId, algorithms: ['ES256'] };
    const idToken = isOpenid ? (await jwtVerify(String(response.id_token), keys, rules)).payload : undefined;
    if (nonce !== undefined) expect(idToken?.nonce).toBe(nonce);
    return { accessToken, refreshToken: String(response.refresh_token) };
  };

  return {
    ...own,
    tokenUrl,
    userinfoUrl,
    requestOf,
    post,
    proofAtPar,
    push,
    openPushed,
    finish,
    authorize,
    codeForm,
    redeem,
    refresh: (refreshToken: string, request?: TokenRequest) =>
      token({ grant_type: 'refresh_token', refresh_token: refreshToken }, request),
    expectTokens,
    obtainTokens: async (params?: Params) => expectTokens(await redeem((await authorize(params)).code)),

    /** Requests userinfo, and returns the status. If `proof` is null, no proof is sent. Default: a valid proof. */
    userinfo: async (
      accessToken: string,
      { proof, scheme = 'DPoP' }: { proof?: string | null; scheme?: string } = {},
    ): Promise<number> => {
      const sentProof = proof === undefined ? await own.proof(userinfoUrl, { method: 'GET', accessToken }) : proof;
      const headers = { Authorization: `${scheme} ${accessToken}`, ...(sentProof !== null && { DPoP: sentProof }) };
      return (await fetch(userinfoUrl, { headers })).status;
    },
  };
}
