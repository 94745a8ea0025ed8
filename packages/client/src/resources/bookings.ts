// Creates, reads, searches, changes and deletes bookings and groups. A group is several bookings that are created
// together or not at all.
import type { RequestOptions, Send } from '../operations.ts';
import type {
  Booking,
  BookingGroup,
  BookingGroupDryRun,
  BookingHistory,
  BookingHistoryQuery,
  BookingList,
  BookingSearch,
  CreateBooking,
  CreateBookingGroup,
  EraseBookings,
  Erasure,
  ReplaceBookingGroup,
  UpdateBooking,
} from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export type Bookings = ReturnType<typeof createBookings>;

export const createBookings = (send: Send) => ({
  /** @throws {BookingsApiError} for example with BOOK00002 if the bay is taken */
  create: async (booking: CreateBooking, options?: CreateOptions): Promise<Versioned<Booking>> =>
    versioned(await send('createBooking', { body: booking, ...options })),
  get: async (id: string, options?: RequestOptions): Promise<Versioned<Booking>> =>
    versioned(await send('getBooking', { path: { id }, ...options })),
  update: async (id: string, booking: UpdateBooking, options?: ChangeOptions): Promise<Versioned<Booking>> =>
    versioned(await send('updateBooking', { path: { id }, body: booking, ...conditional(options) })),
  delete: async (id: string, options?: ChangeOptions): Promise<void> => {
    await send('deleteBooking', { path: { id }, ...conditional(options) });
  },
  /** Needs the scopes `golf/bookings` and `golf/schedule`. Returns the number of bookings that were changed. */
  erase: async (erasure: EraseBookings, options?: RequestOptions): Promise<Erasure> =>
    (await send('eraseBookings', { body: erasure, ...options })).data,
  /** Lists the changes of a booking, oldest first. */
  history: (id: string, query: BookingHistoryQuery = {}, options?: RequestOptions): PagedList<BookingHistory> =>
    pagedList(send, 'getBookingHistory', { path: { id }, query, ...options }),
  /** If `locationIds` is set, the bookings begin and end within the interval. Otherwise they overlap it. */
  search: (query: BookingSearch = {}, options?: RequestOptions): PagedList<BookingList> =>
    pagedList(send, 'searchBookings', { query, ...options }),
});

export interface Groups {
  /** A dry run throws the same errors but books nothing. */
  create(group: CreateBookingGroup & { dryRun: true }, options?: CreateOptions): Promise<BookingGroupDryRun>;
  /** @throws {BookingsApiError} whose `problems` name the booking in `contextData.index` */
  create(group: CreateBookingGroup, options?: CreateOptions): Promise<Versioned<BookingGroup>>;
  get(id: string, options?: RequestOptions): Promise<Versioned<BookingGroup>>;
  /** Makes the group exactly this: changes entries with an `id`, creates the others, deletes what is left out. */
  replace(
    id: string,
    group: ReplaceBookingGroup & { dryRun: true },
    options?: ChangeOptions,
  ): Promise<BookingGroupDryRun>;
  replace(id: string, group: ReplaceBookingGroup, options?: ChangeOptions): Promise<Versioned<BookingGroup>>;
  /** Deletes the bookings of the group that have not ended. */
  delete(id: string, options?: ChangeOptions): Promise<void>;
}

export const createGroups = (send: Send): Groups => ({
  create: async (group: CreateBookingGroup, options?: CreateOptions) =>
    versioned(await send('createBookingGroup', { body: group, ...options })) as Versioned<BookingGroup>,
  get: async (id, options) => versioned(await send('getBookingGroup', { path: { id }, ...options })),
  replace: async (id: string, group: ReplaceBookingGroup, options?: ChangeOptions) =>
    versioned(
      await send('replaceBookingGroup', { path: { id }, body: group, ...conditional(options) }),
    ) as Versioned<BookingGroup>,
  delete: async (id, options) => {
    await send('deleteBookingGroup', { path: { id }, ...conditional(options) });
  },
});
