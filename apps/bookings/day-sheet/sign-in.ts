// Signs the user in at auth with the code flow and PKCE. The access token stays in memory. The session storage keeps
// only what the page needs after the redirect: the check values of the request, the place, and what was typed.
import * as oauth from 'oauth4webapi';

export interface Draft {
  readonly kind: string;
  readonly context: unknown;
  /** By the name of the field. A field that is left out keeps its value. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  readonly problem?: string;
}

/** Returns what is typed in the open form. */
export const drafts: { current?: (() => Draft) | undefined } = {};

export interface Place {
  readonly search: string;
  readonly draft?: Draft | undefined;
}

interface Saved extends Place {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly at: number;
  readonly isReduced: boolean;
}

const storageKey = 'day-sheet';
const setting = (name: string): string => document.body.dataset[name] ?? '';
const issuer = new URL(setting('issuer'));
const client: oauth.Client = { client_id: setting('clientId') };
export const baseUrl = setting('baseUrl');
const redirectUri = `${baseUrl}/day/`;
const pagePath = new URL(`${baseUrl}/day`).pathname;

let token: { readonly value: string; readonly expiresAt: number } | undefined;
/** Whether the token lacks the last scope, `golf/schedule`. It then also has facilities where the user only books. */
export let isReduced = false;

const request = () => ({
  [oauth.allowInsecureRequests]: issuer.protocol === 'http:',
  signal: AbortSignal.timeout(10_000),
});

/** Asks the network each time: auth is then known to be reachable, and a redirect to it does not lose the page. */
async function discover(): Promise<oauth.AuthorizationServer> {
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, request()));
}

export type SignInResult = 'signed in' | 'signed out' | 'not signed in' | { readonly error: string };

/** Finishes a sign-in if the user comes back from auth. Returns the place that the user had before. */
export async function finishSignIn(): Promise<{ readonly result: SignInResult; readonly place: Place }> {
  const url = new URL(location.href);
  const saved = JSON.parse(sessionStorage.getItem(storageKey) ?? 'null') as Saved | null;
  const place: Place = saved ?? { search: '' };
  const isResponse = url.searchParams.has('code') || url.searchParams.has('error');
  if (url.searchParams.get('state') === 'signed-out' && !isResponse) {
    history.replaceState(null, '', pagePath);
    return { result: 'signed out', place: { search: '' } };
  }
  // The Back button of the browser leads from auth to the same address: the page restores what was typed.
  if (!isResponse)
    return {
      result: 'not signed in',
      place: { search: url.search, draft: url.search === saved?.search ? saved.draft : undefined },
    };
  history.replaceState(null, '', pagePath + place.search);
  // A response to another tab, or an old one: the page starts again.
  if (!saved || saved.state !== url.searchParams.get('state')) return { result: 'not signed in', place };
  ({ isReduced } = saved);
  try {
    const server = await discover();
    const parameters = oauth.validateAuthResponse(server, client, url, saved.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      redirectUri,
      saved.verifier,
      request(),
    );
    const expected = { expectedNonce: saved.nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
    const expiresAt = Date.now() + (tokens.expires_in ?? 300) * 1_000;
    token = { value: tokens.access_token, expiresAt };
    sessionStorage.setItem(storageKey, JSON.stringify({ at: Date.now() }));
    return { result: 'signed in', place };
  } catch (error) {
    return { result: { error: reasonOf(error) }, place };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError && error.error === 'access_denied')
    return 'You did not allow the day sheet to see and change bookings, so it cannot show the day.';
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return `The sign-in failed: ${error.error_description ?? error.error}.`;
  return 'The sign-in failed because the authorization server did not respond.';
}

export interface SignInOptions {
  /** From a step-up challenge (RFC 9470). */
  readonly acrValues?: string | undefined;
  readonly maxAge?: number | undefined;
  /** Asks for fewer rights at more facilities. Default: as before. */
  readonly reduced?: boolean;
}

/** Leaves the page for auth. If the session there lives, the user comes back without a prompt. */
export async function startSignIn(
  placeNow: () => Place,
  { acrValues, maxAge, reduced = isReduced }: SignInOptions = {},
): Promise<never> {
  const server = await discover();
  const verifier = oauth.generateRandomCodeVerifier();
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
  const address = new URL(server.authorization_endpoint ?? issuer);
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: reduced ? setting('scopes').replace(/ \S+$/, '') : setting('scopes'),
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    ...(acrValues && { acr_values: acrValues }),
    ...(maxAge !== undefined && { max_age: String(maxAge) }),
  }).toString();
  // The place is read now, because the user may have typed while the page waited for auth.
  const saved: Saved = { ...placeNow(), state, nonce, verifier, isReduced: reduced, at: Date.now() };
  sessionStorage.setItem(storageKey, JSON.stringify(saved));
  // The Back button leads from auth to what was typed. Without a form, it leads to the page before the day sheet.
  if (saved.draft) location.assign(address);
  else location.replace(address);
  // The browser is leaving the page.
  return new Promise<never>(() => {});
}

/** Prevents a loop: if a token that is seconds old is rejected, signing in again does not help. */
export function hasJustSignedIn(): boolean {
  const saved = JSON.parse(sessionStorage.getItem(storageKey) ?? 'null') as Partial<Saved> | null;
  return saved?.at !== undefined && Date.now() - saved.at < 20_000;
}

export const currentToken = (): string | undefined =>
  token && token.expiresAt > Date.now() + 5_000 ? token.value : undefined;
export const dropToken = (): void => {
  token = token && { ...token, expiresAt: 0 };
};

/** Names the client instead of sending an `id_token_hint`, because addresses are logged. */
export async function signOut(): Promise<void> {
  const server = await discover();
  const address = new URL(server.end_session_endpoint ?? issuer);
  address.search = new URLSearchParams({
    client_id: client.client_id,
    post_logout_redirect_uri: redirectUri,
    state: 'signed-out',
  }).toString();
  token = undefined;
  sessionStorage.removeItem(storageKey);
  location.assign(address);
}
