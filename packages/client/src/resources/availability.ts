// Searches the free times of bays, and manages holds and closures.
import type { RequestOptions, Send } from '../operations.ts';
import type {
  Availability,
  AvailabilityQuery,
  Closure,
  ClosureBody,
  ClosureList,
  ClosureQuery,
  CreateHold,
  ExtendHold,
  Hold,
} from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export interface AvailabilitySearch {
  /** `asOf` of each page is the time at which the free times were read. */
  search(query: AvailabilityQuery, options?: RequestOptions): PagedList<Availability>;
}

export const createAvailabilitySearch = (send: Send): AvailabilitySearch => ({
  search: (query, options) => pagedList(send, 'getAvailability', { query, ...options }),
});

export interface Holds {
  /** Reserves a bay until the hold expires. `bookings.create` with `holdId` turns the hold into a booking. */
  create(hold: CreateHold, options?: CreateOptions): Promise<Hold>;
  /** @throws {BookingsApiError} with ERR00404 when the hold has expired or was used */
  get(id: string, options?: RequestOptions): Promise<Hold>;
  /** Sets a new lifetime of the hold, in seconds from now. */
  extend(id: string, body: ExtendHold, options?: RequestOptions): Promise<Hold>;
  delete(id: string, options?: RequestOptions): Promise<void>;
}

export const createHolds = (send: Send): Holds => ({
  create: async (body, options) => (await send('createHold', { body, ...options })).data,
  get: async (id, options) => (await send('getHold', { path: { id }, ...options })).data,
  extend: async (id, body, options) => (await send('extendHold', { path: { id }, body, ...options })).data,
  delete: async (id, options) => {
    await send('deleteHold', { path: { id }, ...options });
  },
});

export interface Closures {
  create(closure: ClosureBody, options?: CreateOptions): Promise<Versioned<Closure>>;
  /** Lists closures in the order of `startDate`, then `id`. */
  list(query?: ClosureQuery, options?: RequestOptions): PagedList<ClosureList>;
  get(id: string, options?: RequestOptions): Promise<Versioned<Closure>>;
  /** Replaces all fields. A field that is left out loses its value. */
  update(id: string, closure: ClosureBody, options?: ChangeOptions): Promise<Versioned<Closure>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
}

export const createClosures = (send: Send): Closures => ({
  create: async (body, options) => versioned(await send('createClosure', { body, ...options })),
  list: (query = {}, options) => pagedList(send, 'listClosures', { query, ...options }),
  get: async (id, options) => versioned(await send('getClosure', { path: { id }, ...options })),
  update: async (id, body, options = {}) =>
    versioned(await send('updateClosure', { path: { id }, body, ...conditional(options) })),
  delete: async (id, options = {}) => {
    await send('deleteClosure', { path: { id }, ...conditional(options) });
  },
});
