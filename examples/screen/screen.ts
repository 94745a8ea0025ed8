// Shows the bookings of a bay on its screen, and updates them when they change. A member of staff signs the screen in
// with a code (device flow, RFC 8628). After a restart, the screen continues without a new sign-in.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type BookingItem, BookingsConnectionError, createBookingsClient } from '@bay-booking/client';
import * as oidc from 'openid-client';

const environment = process.env;
const bayId = environment.BAY_ID ?? 'bay-n1-01';
const facilityId = environment.FACILITY_ID ?? 'fac-north';
const stateFile = environment.STATE_FILE ?? `screen-${bayId}.json`;
const scope = `openid offline_access ${environment.SCOPE_BASE ?? 'https://bay-booking.example'}/golf/bookings`;

interface State {
  refreshToken?: string | undefined;
  /** The position in the change feed up to which `bookings` contains the changes. */
  next?: string;
  bookings: BookingItem[];
}

const state: State = loadState();
// The first request gets a token, because this one has expired.
let accessToken = { value: '', expiresAt: 0 };
/** An access token is replaced a minute before it expires, so that it does not expire during a request. */
const renewBeforeExpiryMs = 60_000;

const noMetadata = undefined;
const config = await oidc.discovery(
  new URL(environment.AUTH_URL ?? 'http://localhost:4000'),
  environment.CLIENT_ID ?? 'demo-display',
  noMetadata,
  // The screen is a public client: it has no secret.
  oidc.None(),
  { execute: environment.AUTH_URL?.startsWith('https:') ? [] : [oidc.allowInsecureRequests] },
);

const client = createBookingsClient({
  baseUrl: environment.BOOKINGS_URL ?? 'http://localhost:4001',
  // `renew` is true after the Bookings API has rejected the access token.
  auth: async ({ renew }) => {
    if (renew || Date.now() > accessToken.expiresAt - renewBeforeExpiryMs) await refresh();
    return accessToken.value;
  },
});

if (!state.refreshToken) await signIn();
// Shows the bookings of the state file until the first changes arrive.
show();
const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort()).once('SIGTERM', () => stopping.abort());
await followChanges();

/** Shows a code, and waits until somebody has entered it on another device. */
async function signIn(): Promise<void> {
  for (;;) {
    const device = await oidc.initiateDeviceAuthorization(config, { scope });
    console.log(`Sign in at ${device.verification_uri} with the code ${device.user_code}`);
    try {
      useTokens(await oidc.pollDeviceAuthorizationGrant(config, device));
      return;
    } catch (error) {
      // If nobody has entered the code before it expired, a new code is shown.
      if (!(error instanceof oidc.ResponseBodyError && error.error === 'expired_token')) throw error;
    }
  }
}

/**
 * Gets a new access token. A refresh token works once, so its successor is saved before the access token is used. If
 * the refresh token is no longer valid, a member of staff must sign in again.
 */
async function refresh(): Promise<void> {
  try {
    useTokens(await oidc.refreshTokenGrant(config, state.refreshToken ?? ''));
  } catch (error) {
    const isSignedOut = error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant';
    // After a BookingsConnectionError, the client tries again. Any other error would end the program.
    if (!isSignedOut) throw new BookingsConnectionError('no token at the moment', { cause: error });
    await signIn();
  }
}

function useTokens(tokens: Awaited<ReturnType<typeof oidc.refreshTokenGrant>>): void {
  accessToken = { value: tokens.access_token, expiresAt: Date.now() + (tokens.expiresIn() ?? 0) * 1_000 };
  state.refreshToken = tokens.refresh_token ?? state.refreshToken;
  saveState();
}

async function followChanges(): Promise<void> {
  const pages = client.changes.follow({
    facilityId,
    from: state.next,
    signal: stopping.signal,
    onError: ({ message }) => console.error(`Not up to date: ${message}`),
  });
  for await (const { items, next, startsOver } of pages) {
    // `startsOver` is true for a page that begins the change feed anew. This page and the following ones contain all
    // bookings again, so the stored bookings are dropped.
    const byId = new Map((startsOver ? [] : state.bookings).map((booking) => [booking.id, booking]));
    for (const change of items) {
      byId.delete(change.id);
      // A new booking is 'updated' too. The other state is 'deleted'.
      if (change.state === 'updated' && change.data.bayId === bayId) byId.set(change.id, change.data);
    }
    const now = new Date().toISOString();
    const bookings = [...byId.values()].filter(({ endDate }) => endDate > now);
    state.bookings = bookings.toSorted((a, b) => a.startDate.localeCompare(b.startDate));
    state.next = next;
    saveState();
    show();
  }
}

function show(): void {
  console.log(`--- ${bayId}: ${state.bookings.length} bookings`);
  for (const { startDate, endDate, userAlias } of state.bookings)
    console.log(`${startDate} – ${endDate}  ${userAlias}`);
}

function loadState(): State {
  try {
    return JSON.parse(readFileSync(stateFile, 'utf8'));
  } catch {
    // There is no file at the first start.
    return { bookings: [] };
  }
}

/** Replaces the file with a new file, so that the file is complete even if the program is killed during the write. */
function saveState(): void {
  writeFileSync(`${stateFile}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${stateFile}.new`, stateFile);
}
