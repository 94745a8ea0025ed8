// Connects the page with the public API: the typed client, the connection's state and what happens without a token.
import {
  type BookingsClient,
  BookingsError,
  BookingsStepUpError,
  BookingsTokenError,
  createBookingsClient,
} from '@bay-booking/client';
import { currentDraft } from './forms/form.ts';
import * as signIn from './sign-in.ts';

/** Undefined while the service responds, else the time of the first failure. */
let failingSince: number | undefined;
const connectionListeners = new Set<(since: number | undefined) => void>();

export function onConnection(listener: (since: number | undefined) => void, signal: AbortSignal): void {
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
    // An aborted request says nothing about the connection.
    if (!init?.signal?.aborted) setConnected(false);
    throw error;
  }
}

const placeNow = (): signIn.Place => ({ search: location.search, draft: currentDraft() });

/** Gets a new token without losing what was typed. Throws if a token that is seconds old was rejected. */
async function renewToken(): Promise<string> {
  if (signIn.hasJustSignedIn()) throw new Error('the service rejects a new access token');
  return signIn.startSignIn(placeNow());
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

/** For what the user asks for. If there is no token, the page leaves for auth and comes back to the same dialog. */
export const client = createClient(renewToken);

/** For what the page does by itself. While a dialog is open, it waits for a token instead of leaving the page. */
export const backgroundClient = createClient(async () => {
  if (!document.querySelector('dialog[open]')) return renewToken();
  throw new Error('no token while a dialog is open');
});

/** Sends the user to auth for a step-up, if the error asks for one. Otherwise returns. */
export async function stepUp(error: unknown): Promise<void> {
  if (!(error instanceof BookingsStepUpError)) return;
  const { acrValues, maxAge } = error;
  await signIn.startSignIn({ ...placeNow(), acrValues, maxAge });
}

export const isConnectionProblem = (error: unknown): boolean =>
  error instanceof BookingsError && !(error instanceof BookingsTokenError) && !('status' in error);
