// Creates clients of the Bookings API.
import { createAuthorizedFetch } from './authorized-fetch.ts';
import type { RequestOptions } from './operations.ts';
import type { BookingsClientOptions } from './options.ts';
import { createSend } from './request.ts';
import { createAvailabilitySearch, createClosures, createHolds } from './resources/availability.ts';
import { createBookings, createGroups } from './resources/bookings.ts';
import { createChanges, createHistory } from './resources/changes.ts';
import { createPeople } from './resources/people.ts';
import { createBays, createLocations } from './resources/places.ts';
import { createWebhooks } from './resources/webhooks.ts';
import type { BookingUsage, Me, UsageQuery } from './schemas.ts';
import { expectSecure } from './tokens/client-credentials.ts';

export type BookingsClient = ReturnType<typeof createBookingsClient>;

/**
 * @throws {TypeError} unless `baseUrl` and `auth.issuer` use https. http is allowed on this machine, and on every host
 * if `allowInsecureHttp` is true.
 */
export function createBookingsClient(options: BookingsClientOptions) {
  const { auth, retry = {}, timeoutMs = 10_000, allowInsecureHttp = false, strict = false } = options;
  const baseUrl = new URL(options.baseUrl);
  expectSecure(baseUrl, allowInsecureHttp);
  if ('issuer' in auth && auth.issuer) expectSecure(new URL(auth.issuer), allowInsecureHttp);
  // `globalThis.fetch` is read at each request, because a program can replace it later.
  const fetch: typeof globalThis.fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
  const authorizedFetch = createAuthorizedFetch({ auth, baseUrl, fetch, timeoutMs, allowInsecureHttp });
  const sending = { baseUrl, authorizedFetch, retryOptions: retry, timeoutMs };
  const send = createSend({ ...sending, strict });
  return {
    bookings: createBookings(send),
    groups: createGroups(send),
    bays: createBays(send),
    locations: createLocations(send),
    availability: createAvailabilitySearch(send),
    holds: createHolds(send),
    closures: createClosures(send),
    changes: createChanges(send),
    history: createHistory(send),
    webhooks: createWebhooks(send),
    /** Returns the client, subject, scopes, facilities and expiry of the access token. */
    me: async (options?: RequestOptions): Promise<Me> => (await send('getMe', { ...options })).data,
    /** Counts bookings and booked time by day, weekday, hour, bay or client. */
    usage: async (query: UsageQuery, options?: RequestOptions): Promise<BookingUsage> =>
      (await send('getBookingUsage', { query, ...options })).data,
    /** Returns the names of the people, personal access tokens and applications of a facility. */
    people: createPeople({ ...sending, auth, fetch, allowInsecureHttp }),
    /** Sends a request to the endpoint that has this `operationId` in the OpenAPI document. */
    request: send,
  };
}

export {
  BookingsApiError,
  BookingsConnectionError,
  BookingsError,
  BookingsStepUpError,
  BookingsTokenError,
  type Problem,
} from './errors.ts';
export type { components, operations, paths } from './generated/bookings-api.ts';
export type { ErrorCode } from './generated/error-codes.ts';
export type { ApiResponse, OperationId, RequestOf, RequestOptions, ResultOf } from './operations.ts';
export type * from './options.ts';
export type { AvailabilitySearch, Closures, Holds } from './resources/availability.ts';
export type { Bookings, Groups } from './resources/bookings.ts';
export type {
  BookingsHistory,
  ChangePage,
  Changes,
  FollowChangesOptions,
  ReadChangesOptions,
} from './resources/changes.ts';
export type { PagedList } from './resources/paged-list.ts';
export type { FacilityPeople } from './resources/people.ts';
export type { Bays, Locations } from './resources/places.ts';
export type { ChangeOptions, CreateOptions, Versioned } from './resources/versions.ts';
export type { Webhooks } from './resources/webhooks.ts';
export type * from './schemas.ts';
export { type Times, type WeeklyTimes, weekly } from './weekly.ts';
