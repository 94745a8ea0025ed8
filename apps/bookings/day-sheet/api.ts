// Connects the page with the public API: the typed client, the connection's state and what happens without a token.
import {
  type BookingsClient,
  BookingsConnectionError,
  BookingsStepUpError,
  createBookingsClient,
} from '@bay-booking/client';
import { currentDraft } from './forms/form.ts';
import * as signIn from './sign-in.ts';

/** Undefined while the service responds, else the time of the first failure. */
let failingSince: number | undefined;
const connectionListeners = new Set<(since: number | undefined) => unknown>();

export function onConnection(listener: (since: number | undefined) => unknown, signal: AbortSignal): void {
  connectionListeners.add(listener);
  signal.addEventListener('abort', () => connectionListeners.delete(listener));
}

function setConnected(connected: boolean): void {
  if (connected === (failingSince === undefined)) return;
  failingSince = connected ? undefined : Date.now();
  for (const listener of connectionListeners) listener(failingSince);
}

addEventListener('offline', () => setConnected(false));

async function observedFetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init);
    setConnected(response.status < 500);
    return response;
  } catch (error) {
    // A request that the page has aborted says nothing about the connection.
    const { aborted, reason } = init?.signal ?? {};
    if (!aborted || reason?.name === 'TimeoutError') setConnected(false);
    throw error;
  }
}

const placeNow = (): signIn.Place => ({ search: location.search, draft: currentDraft() });

/** Gets a new token without losing what was typed. Throws if a token that is seconds old was rejected. */
async function renewToken(): Promise<string> {
  if (signIn.hasJustSignedIn()) throw new Error('the service rejects a new access token');
  return signIn.startSignIn(placeNow);
}

function createClient(onNoToken: () => Promise<string>): BookingsClient {
  return createBookingsClient({
    baseUrl: signIn.baseUrl,
    auth: async ({ renew }) => {
      if (renew) signIn.dropToken();
      return signIn.currentToken() ?? onNoToken();
    },
    // Somebody waits for the response. `changes.follow` has a loop of its own, which never gives up.
    retry: { maxAttempts: 3, maxTotalMs: 6_000 },
    timeoutMs: 8_000,
    fetch: observedFetch,
  });
}

/** Sends requests that the user has started. If there is no token, the page leaves for auth and restores the dialog. */
export const client = createClient(renewToken);

let typedAt = 0;
addEventListener('input', () => {
  typedAt = Date.now();
});
const isBusy = (): boolean =>
  document.querySelector('dialog[open], .dragging') !== null || Date.now() - typedAt < 10_000;

/** Sends requests that the page starts by itself. If there is no token, they fail while somebody types or drags. */
export const backgroundClient = createClient(async () => {
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
