// Creates, reads, searches, changes and deletes bookings.
import type { RequestOptions, Send } from '../operations.ts';
import type { Booking, BookingList, BookingSearch, CreateBooking, UpdateBooking } from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export interface Bookings {
  /** @throws {BookingsApiError} for example with BOOK00002 when the bay is taken */
  create(booking: CreateBooking, options?: CreateOptions): Promise<Versioned<Booking>>;
  get(id: string, options?: RequestOptions): Promise<Versioned<Booking>>;
  update(id: string, booking: UpdateBooking, options?: ChangeOptions): Promise<Versioned<Booking>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** With `locationIds`, the bookings begin and end within the interval. Without, they overlap it. */
  search(query?: BookingSearch, options?: RequestOptions): PagedList<BookingList>;
}

export const createBookings = (send: Send): Bookings => ({
  create: async (body, options) => versioned(await send('createBooking', { body, ...options })),
  get: async (id, options) => versioned(await send('getBooking', { path: { id }, ...options })),
  update: async (id, body, options = {}) =>
    versioned(await send('updateBooking', { path: { id }, body, ...conditional(options) })),
  delete: async (id, options = {}) => {
    await send('deleteBooking', { path: { id }, ...conditional(options) });
  },
  search: (query = {}, options) => pagedList(send, 'searchBookings', { query, ...options }),
});
