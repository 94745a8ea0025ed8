// Runs the flows that need a user. A simulated browser takes the role of the user.
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { type AuthServer, scopes } from './auth-server.ts';

export const player = { username: 'player@example.com', password: 'demo-player-pass' };
export const owner = { username: 'owner@north.example', password: 'demo-owner-pass' };
export const webCallback = 'http://localhost:4010/callback';
/** The buttons of the pages where a user decides. */
export const allow = { name: 'decision', value: 'allow' };
export const deny = { name: 'decision', value: 'deny' };

/** A PKCE challenge with its verifier: the example in RFC 7636, appendix B. */
export const pkce = {
  challenge: { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
  verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
};

/** The parameters of an authorization request of the client demo-web, without `scope`. */
export const webRequest = {
  response_type: 'code',
  client_id: 'demo-web',
  redirect_uri: webCallback,
  ...pkce.challenge,
};

export const openBrowser = (server: AuthServer): FormBrowser => openFormBrowser([server.origin]);

export const authorizeUrl = (server: Pick<AuthServer, 'origin'>, params: Record<string, string>): string =>
  `${server.origin}/connect/authorize?${new URLSearchParams(params)}`;

/** Signs in on the sign-in page, and decides on all scopes on the consent page. Returns the last page. */
export async function signInAndConsent(
  browser: FormBrowser,
  page: Page,
  user = player,
  decision = allow,
): Promise<Page> {
  let current = page;
  if (current.title.startsWith('Sign in')) current = await browser.send(current, user);
  if (current.title.startsWith('Allow')) current = await browser.send(current, {}, decision);
  return current;
}

/**
 * Returns the parameters that the client gets at its redirect URI, from the fragment or, without one, from the query.
 */
export function redirectParameters({ url }: Page): Record<string, string> {
  return Object.fromEntries(url.hash ? new URLSearchParams(url.hash.slice(1)) : url.searchParams);
}

/** Runs an authorization request as the user, and returns the parameters that the client gets at its redirect URI. */
export async function authorize(
  server: AuthServer,
  params: Record<string, string>,
  { browser = openBrowser(server), user = player } = {},
): Promise<Record<string, string>> {
  return redirectParameters(await signInAndConsent(browser, await browser.open(authorizeUrl(server, params)), user));
}

export const webClient = { client_id: 'demo-web', client_secret: 'demo-web-secret' };

/** Exchanges the code of `webRequest`. `more` has further parameters of the token request. */
export const exchangeCode = (server: AuthServer, code: unknown, more: Record<string, string> = {}) =>
  server.token({
    ...webClient,
    grant_type: 'authorization_code',
    code: String(code),
    code_verifier: pkce.verifier,
    redirect_uri: webCallback,
    ...more,
  });

type Tokens = Readonly<Record<string, unknown>>;

/** `more` has the fields that identify the client, and further parameters. */
export const refreshTokens = (
  server: AuthServer,
  tokens: Tokens,
  more: Record<string, string> = { client_id: 'demo-native' },
) => server.token({ grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token), ...more });

/** Signs in with the password grant (RFC 6749 section 4.3). */
export const passwordTokens = (
  server: AuthServer,
  user: { readonly username: string; readonly password: string },
  scope = `offline_access ${scopes.play}`,
) => server.token({ grant_type: 'password', client_id: 'demo-native', scope, ...user });

/** Obtains an access token for userinfo with the implicit flow of demo-spa. */
export async function obtainAccessToken(server: AuthServer): Promise<string> {
  const request = { response_type: 'id_token token', scope: `openid ${scopes.play}`, nonce: 'n' };
  const client = { client_id: 'demo-spa', redirect_uri: 'http://localhost:4010/spa' };
  return String((await authorize(server, { ...request, ...client })).access_token);
}
