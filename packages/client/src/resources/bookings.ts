// Creates, reads, searches, changes and deletes bookings.
import type { RequestOptions, Send } from '../operations.ts';
import type {
  Booking,
  BookingHistory,
  BookingHistoryQuery,
  BookingList,
  BookingSearch,
  CreateBooking,
  EraseBookings,
  Erasure,
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
