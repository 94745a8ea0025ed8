// Creates, reads, searches, changes and deletes bookings and groups. A group is several bookings that are created
// together or not at all.
import type { RequestOptions, Send } from '../operations.ts';
import type * as api from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export type Bookings = ReturnType<typeof createBookings>;

export const createBookings = (send: Send) => ({
  /** @throws {BookingsApiError} for example with BOOK00002 if the bay is taken */
  create: async (booking: api.CreateBooking, options?: CreateOptions): Promise<Versioned<api.Booking>> =>
    versioned(await send('createBooking', { body: booking, ...options })),
  get: async (id: string, options?: RequestOptions): Promise<Versioned<api.Booking>> =>
    versioned(await send('getBooking', { path: { id }, ...options })),
  update: async (id: string, booking: api.UpdateBooking, options?: ChangeOptions): Promise<Versioned<api.Booking>> =>
    versioned(await send('updateBooking', { path: { id }, body: booking, ...conditional(options) })),
  delete: async (id: string, options?: ChangeOptions): Promise<void> => {
    await send('deleteBooking', { path: { id }, ...conditional(options) });
  },
  /** Needs the scopes `golf/bookings` and `golf/schedule`. Returns the number of bookings that were changed. */
  erase: async (erasure: api.EraseBookings, options?: RequestOptions): Promise<api.Erasure> =>
    (await send('eraseBookings', { body: erasure, ...options })).data,
  /** Lists the changes of a booking, oldest first. */
  history: (id: string, query: api.BookingHistoryQuery = {}, options?: RequestOptions): PagedList<api.BookingHistory> =>
    pagedList(send, 'getBookingHistory', { path: { id }, query, ...options }),
  /** If `locationIds` is set, the bookings begin and end within the interval. Otherwise they overlap it. */
  search: (query: api.BookingSearch = {}, options?: RequestOptions): PagedList<api.BookingList> =>
    pagedList(send, 'searchBookings', { query, ...options }),
});

export interface Groups {
  /** A dry run throws the same errors but books nothing. */
  create(group: api.CreateBookingGroup & { dryRun: true }, options?: CreateOptions): Promise<api.BookingGroupDryRun>;
  /** @throws {BookingsApiError} whose `problems` name the booking in `contextData.index` */
  create(group: api.CreateBookingGroup, options?: CreateOptions): Promise<Versioned<api.BookingGroup>>;
  get(id: string, options?: RequestOptions): Promise<Versioned<api.BookingGroup>>;
  /** Makes the group exactly this: changes entries with an `id`, creates the others, deletes what is left out. */
  replace(
    id: string,
    group: api.ReplaceBookingGroup & { dryRun: true },
    options?: ChangeOptions,
  ): Promise<api.BookingGroupDryRun>;
  replace(id: string, group: api.ReplaceBookingGroup, options?: ChangeOptions): Promise<Versioned<api.BookingGroup>>;
  /** Deletes the bookings of the group that have not ended. */
  delete(id: string, options?: ChangeOptions): Promise<void>;
}

export const createGroups = (send: Send): Groups => ({
  create: async (group: api.CreateBookingGroup, options?: CreateOptions) =>
    versioned(await send('createBookingGroup', { body: group, ...options })) as Versioned<api.BookingGroup>,
  get: async (id, options) => versioned(await send('getBookingGroup', { path: { id }, ...options })),
  replace: async (id: string, group: api.ReplaceBookingGroup, options?: ChangeOptions) =>
    versioned(
      await send('replaceBookingGroup', { path: { id }, body: group, ...conditional(options) }),
    ) as Versioned<api.BookingGroup>,
  delete: async (id, options) => {
    await send('deleteBookingGroup', { path: { id }, ...conditional(options) });
  },
});
