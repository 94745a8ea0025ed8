// Searches free times of bays and manages holds and closures.
import type { RequestOptions, Send } from '../operations.ts';
import type * as api from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export type AvailabilitySearch = ReturnType<typeof createAvailabilitySearch>;
export type Holds = ReturnType<typeof createHolds>;
export type Closures = ReturnType<typeof createClosures>;

export const createAvailabilitySearch = (send: Send) => ({
  /** `asOf` of each page is the time when the service read the free times. */
  search: (query: api.AvailabilityQuery, options?: RequestOptions): PagedList<api.Availability> =>
    pagedList(send, 'getAvailability', { query, ...options }),
});

export const createHolds = (send: Send) => ({
  /** Reserves a bay until the hold expires. `bookings.create` with `holdId` converts the hold to a booking. */
  create: async (hold: api.CreateHold, options?: CreateOptions): Promise<api.Hold> =>
    (await send('createHold', { body: hold, ...options })).data,
  /** @throws {BookingsApiError} with ERR00404 if the hold has expired or was used */
  get: async (id: string, options?: RequestOptions): Promise<api.Hold> =>
    (await send('getHold', { path: { id }, ...options })).data,
  /** The new lifetime starts now. */
  extend: async (id: string, body: api.ExtendHold, options?: RequestOptions): Promise<api.Hold> =>
    (await send('extendHold', { path: { id }, body, ...options })).data,
  delete: async (id: string, options?: RequestOptions): Promise<void> => {
    await send('deleteHold', { path: { id }, ...options });
  },
});

export const createClosures = (send: Send) => ({
  create: async (closure: api.ClosureBody, options?: CreateOptions): Promise<Versioned<api.Closure>> =>
    versioned(await send('createClosure', { body: closure, ...options })),
  /** Lists closures by `startDate`, then by `id`. */
  list: (query: api.ClosureQuery = {}, options?: RequestOptions): PagedList<api.ClosureList> =>
    pagedList(send, 'listClosures', { query, ...options }),
  get: async (id: string, options?: RequestOptions): Promise<Versioned<api.Closure>> =>
    versioned(await send('getClosure', { path: { id }, ...options })),
  /** Replaces all fields. A field that is left out is removed. */
  update: async (id: string, closure: api.ClosureBody, options?: ChangeOptions): Promise<Versioned<api.Closure>> =>
    versioned(await send('updateClosure', { path: { id }, body: closure, ...conditional(options) })),
  delete: async (id: string, options?: ChangeOptions): Promise<void> => {
    await send('deleteClosure', { path: { id }, ...conditional(options) });
  },
});
