// Signs the user in at auth with the code flow and PKCE. The access token stays in memory. The session storage keeps
// only what the page needs after the redirect: the check values of the request, the place, and what was typed.
import * as oauth from 'oauth4webapi';

export interface FormDraft {
  readonly kind: string;
  readonly context: unknown;
  /** By the name of the field. A field that is left out keeps its value. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  readonly problem?: string;
}

/** Returns what is typed in the open form. */
export const drafts: { current?: (() => FormDraft) | undefined } = {};

export interface Place {
  readonly search: string;
  readonly draft?: FormDraft | undefined;
  /** Who typed the draft. Nobody else may see it. */
  readonly subject?: string | undefined;
  /** What the page has to say when it shows the day. */
  readonly notice?: string | undefined;
}

/** A sign-in or a sign-out that has begun. */
interface Saved extends Place {
  readonly purpose: 'sign-in' | 'sign-out';
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly isReduced: boolean;
}

const storageKey = 'day-sheet';
const setting = (name: string): string => document.body.dataset[name] ?? '';
const issuer = new URL(setting('issuer'));
export const clientId = setting('clientId');
const client: oauth.Client = { client_id: clientId };
export const serviceUrl = setting('baseUrl');
const redirectUri = `${serviceUrl}/day/`;
const pagePath = new URL(`${serviceUrl}/day`).pathname;

/** Who is signed in. */
export let subject: string | undefined;
let token: { readonly value: string; readonly expiresAt: number } | undefined;
/** Whether the token lacks the last scope, `golf/schedule`. It then also has facilities where the user only books. */
export let isReduced = false;

const request = () => ({
  [oauth.allowInsecureRequests]: issuer.protocol === 'http:',
  // The cache of the browser would answer for an auth that cannot be reached.
  [oauth.customFetch]: (url: string, init: object) => fetch(url, { ...init, cache: 'no-store' }),
  signal: AbortSignal.timeout(10_000),
});

/** Asks the network each time: auth is then known to be reachable, and a redirect to it does not lose the page. */
async function discover(): Promise<oauth.AuthorizationServer> {
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, request()));
}

type SignInResult = 'signed in' | 'signed out' | 'not signed in' | { readonly error: string };

const readSaved = (): Partial<Saved> & { readonly at?: number } =>
  JSON.parse(sessionStorage.getItem(storageKey) ?? '{}') as Partial<Saved>;

const responseParameters = ['code', 'error', 'error_description', 'error_uri', 'iss', 'session_state', 'state'];
const foreignResponse = 'The address had a sign-in response that this page did not ask for. It was ignored.';

/** Returns the place of a URL with a response to another page, to another tab, or to an old request. */
function placeWithout(url: URL, saved: Partial<Saved>): Place {
  for (const name of responseParameters) url.searchParams.delete(name);
  const search = url.search || (saved.search ?? '');
  return { ...(search === saved.search && saved), search, notice: foreignResponse };
}

export interface FinishedSignIn {
  readonly result: SignInResult;
  /** The place that the user had before. */
  readonly place: Place;
}

/** Finishes a sign-in if the user comes back from auth. */
export async function finishSignIn(): Promise<FinishedSignIn> {
  const url = new URL(location.href);
  const saved = readSaved();
  if (!['code', 'error', 'state'].some((name) => url.searchParams.has(name))) {
    // The Back button of the browser leads from auth to the same URL: the page restores what was typed.
    const { draft, subject: typist } = url.search === saved.search ? saved : {};
    return { result: 'not signed in', place: { search: url.search, draft, subject: typist } };
  }
  if (saved.state === undefined || saved.state !== url.searchParams.get('state')) {
    const place = placeWithout(url, saved);
    history.replaceState(null, '', pagePath + place.search);
    return { result: 'not signed in', place };
  }
  const { search = '', nonce = '', verifier = '', notice } = saved;
  history.replaceState(null, '', pagePath + search);
  if (saved.purpose === 'sign-out') {
    sessionStorage.removeItem(storageKey);
    return { result: 'signed out', place: { search } };
  }
  isReduced = saved.isReduced === true;
  try {
    const server = await discover();
    const parameters = oauth.validateAuthResponse(server, client, url, saved.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      redirectUri,
      verifier,
      request(),
    );
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
    const expiresAt = Date.now() + (tokens.expires_in ?? 300) * 1_000;
    token = { value: tokens.access_token, expiresAt };
    subject = oauth.getValidatedIdTokenClaims(tokens)?.sub;
    sessionStorage.setItem(storageKey, JSON.stringify({ at: Date.now() }));
    return {
      result: 'signed in',
      place: { search, notice, draft: saved.subject === subject ? saved.draft : undefined },
    };
  } catch (error) {
    return { result: { error: reasonOf(error) }, place: saved as Place };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError && error.error === 'access_denied')
    return 'You did not allow the day sheet to see and change bookings, so it cannot show the day.';
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return `The sign-in failed: ${error.error_description ?? error.error}.`;
  return 'The sign-in failed, because the sign-in service did not respond. Try again in a moment.';
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
  const authUrl = new URL(server.authorization_endpoint ?? issuer);
  authUrl.search = new URLSearchParams({
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
  const { search, draft, subject: typist, notice } = placeNow();
  const place: Place = { search, draft, subject: typist, notice };
  const saved: Saved = { ...place, purpose: 'sign-in', state, nonce, verifier, isReduced: reduced };
  sessionStorage.setItem(storageKey, JSON.stringify(saved));
  // The Back button leads from auth to what was typed. If there was no form, it leads to the page before the day sheet.
  if (saved.draft) location.assign(authUrl);
  else location.replace(authUrl);
  // The browser is leaving the page.
  return new Promise<never>(() => {});
}

/** Prevents a loop: if a token that is seconds old is rejected, signing in again does not help. */
export function hasJustSignedIn(): boolean {
  const { at } = readSaved();
  return at !== undefined && Date.now() - at < 20_000;
}

export const currentToken = (): string | undefined =>
  token && token.expiresAt > Date.now() + 5_000 ? token.value : undefined;
export const dropToken = (): void => {
  token = token && { ...token, expiresAt: 0 };
};

/** Revokes the access token and leaves for auth, which ends the session. */
export async function signOut(): Promise<void> {
  const server = await discover();
  // If the revocation fails, the token expires soon, and the user must still get out.
  if (token) await oauth.revocationRequest(server, client, oauth.None(), token.value, request()).catch(() => {});
  token = undefined;
  const state = oauth.generateRandomState();
  sessionStorage.setItem(storageKey, JSON.stringify({ search: '', purpose: 'sign-out', state }));
  const authUrl = new URL(server.end_session_endpoint ?? issuer);
  // Names the client instead of sending an `id_token_hint`, because URLs are logged.
  authUrl.search = new URLSearchParams({
    client_id: client.client_id,
    post_logout_redirect_uri: redirectUri,
    state,
  }).toString();
  location.assign(authUrl);
}
