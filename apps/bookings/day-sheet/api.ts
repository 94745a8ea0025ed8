// Connects the page with the public API: the typed client, the connection's state and what happens without a token.
import {
  BookingsApiError,
  type BookingsClient,
  BookingsConnectionError,
  BookingsStepUpError,
  createBookingsClient,
} from '@bay-booking/client';
import * as signIn from './sign-in.ts';

/**
 * Has the event `connection` when `offlineSince` has changed, `connected` when a request can succeed again, `catch-up`
 * when the sheet must read all changes now, and `caught-up` when it has read them.
 */
export const events = new EventTarget();

let respondedAt = Date.now();
/** Undefined while the service responds, else the time of its last response. */
export let offlineSince: number | undefined;

function setConnected(connected: boolean): void {
  const wasConnected = offlineSince === undefined;
  if (connected) respondedAt = Date.now();
  offlineSince = connected ? undefined : respondedAt;
  if (connected === wasConnected) return;
  events.dispatchEvent(new Event('connection'));
  if (connected) events.dispatchEvent(new Event('connected'));
}

addEventListener('offline', () => setConnected(false));
addEventListener('online', () => events.dispatchEvent(new Event('connected')));

const catchUpMs = 2_000;

/** Waits until the sheet shows every change until now, so that a saved form closes over the truth. */
export async function catchUp(): Promise<void> {
  await new Promise((resolve) => {
    events.addEventListener('caught-up', resolve, { once: true });
    setTimeout(resolve, catchUpMs);
    events.dispatchEvent(new Event('catch-up'));
  });
}

async function observedFetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  // Auth has the names of people, which must not get into the browser's cache on the disk.
  if (!String(url).startsWith(`${signIn.serviceUrl}/`)) return fetch(url, { ...init, cache: 'no-store' });
  try {
    const response = await fetch(url, init);
    setConnected(response.status < 500);
    if (response.ok && init?.method !== 'GET') await catchUp();
    return response;
  } catch (error) {
    // A request that the page has aborted says nothing about the connection.
    const { aborted, reason } = init?.signal ?? {};
    if (!aborted || reason?.name === 'TimeoutError') setConnected(false);
    throw error;
  }
}

const placeNow = (): signIn.Place => ({
  search: location.search,
  draft: signIn.drafts.current?.(),
  subject: signIn.subject,
});

/** Gets a new token without losing what was typed. Throws if a token that is seconds old was rejected. */
async function renewToken(): Promise<string> {
  if (signIn.hasJustSignedIn()) throw new Error('the service rejects a new access token');
  return signIn.startSignIn(placeNow);
}

const timeoutMs = 8_000;

function createClient(onNoToken: () => Promise<string>): BookingsClient {
  return createBookingsClient({
    baseUrl: signIn.serviceUrl,
    auth: async ({ renew }) => {
      if (renew) signIn.dropToken();
      return signIn.currentToken() ?? onNoToken();
    },
    // Somebody waits for the response. `changes.follow` has a loop of its own, which never gives up.
    retry: { maxAttempts: 3, maxTotalMs: 6_000 },
    timeoutMs,
    fetch: observedFetch,
  });
}

/** Sends requests that the user has started. If there is no token, the page leaves for auth and restores the dialog. */
export const api = createClient(renewToken);

/** Requests a response that is not JSON, such as the usage as CSV. */
export async function requestText(path: string, accept: string): Promise<string> {
  const headers = { accept, authorization: `Bearer ${signIn.currentToken() ?? (await renewToken())}` };
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await observedFetch(signIn.serviceUrl + path, { method: 'GET', headers, signal });
  if (!response.ok) throw new Error(`the service returned ${response.status}`);
  return response.text();
}

let typedAt = 0;
addEventListener('input', () => {
  typedAt = Date.now();
});
/** Whether somebody types or drags, or has a form open. */
export const isBusy = (): boolean =>
  document.querySelector('dialog[open], .dragging') !== null || Date.now() - typedAt < 10_000;

/** Sends requests that the page starts by itself. If there is no token, they fail while somebody types or drags. */
export const backgroundApi = createClient(async () => {
  if (!isBusy()) return renewToken();
  throw new Error('no token while somebody works on the page');
});

/** Sends the user to auth for a step-up, if the error asks for one. Otherwise returns. */
export async function stepUp(error: unknown): Promise<void> {
  if (!(error instanceof BookingsStepUpError)) return;
  const { acrValues, maxAge } = error;
  await signIn.startSignIn(placeNow, { acrValues, maxAge });
}

export const isConnectionProblem = (error: unknown): boolean => error instanceof BookingsConnectionError;

/** After these, the same request can succeed: there is a new sign-in, or fewer requests. */
const repeatedStatuses = [401, 408, 429];

/** Whether the service says that the request is wrong. An error without problems comes from a proxy. */
export const isFinal = (error: unknown): boolean =>
  error instanceof BookingsApiError &&
  error.problems.length > 0 &&
  error.status < 500 &&
  !repeatedStatuses.includes(error.status);
