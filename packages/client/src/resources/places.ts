// Reads locations, bays and the upcoming bookings of a bay, and manages the opening hours of a location.
import type { RequestOptions, Send } from '../operations.ts';
import type {
  BayQuery,
  BookingBayList,
  BookingList,
  BookingLocation,
  BookingLocationList,
  LocationQuery,
  OpeningHours,
  SetOpeningHours,
  UpcomingBookingsQuery,
} from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, conditional, type Versioned, versioned } from './versions.ts';

export interface Locations {
  /** Lists locations in the order of `name`. */
  list(query?: LocationQuery, options?: RequestOptions): PagedList<BookingLocationList>;
  get(id: string, options?: RequestOptions): Promise<BookingLocation>;
  getOpeningHours(id: string, options?: RequestOptions): Promise<Versioned<OpeningHours>>;
  setOpeningHours(id: string, hours: SetOpeningHours, options?: ChangeOptions): Promise<Versioned<OpeningHours>>;
  /** A location without opening hours is always open. */
  deleteOpeningHours(id: string, options?: ChangeOptions): Promise<void>;
}

export const createLocations = (send: Send): Locations => ({
  list: (query = {}, options) => pagedList(send, 'listBookingLocations', { query, ...options }),
  get: async (id, options) => (await send('getBookingLocation', { path: { id }, ...options })).data,
  getOpeningHours: async (id, options) => versioned(await send('getOpeningHours', { path: { id }, ...options })),
  setOpeningHours: async (id, body, options = {}) =>
    versioned(await send('setOpeningHours', { path: { id }, body, ...conditional(options) })),
  deleteOpeningHours: async (id, options = {}) => {
    await send('deleteOpeningHours', { path: { id }, ...conditional(options) });
  },
});

export interface Bays {
  /** Lists the bays of one location, or of all facilities of the token, in the order of `name`. */
  list(query?: BayQuery, options?: RequestOptions): PagedList<BookingBayList>;
  upcomingBookings(id: string, query?: UpcomingBookingsQuery, options?: RequestOptions): PagedList<BookingList>;
}

export const createBays = (send: Send): Bays => ({
  list: (query = {}, options) => pagedList(send, 'listBookingBays', { query, ...options }),
  upcomingBookings: (id, query = {}, options) =>
    pagedList(send, 'listUpcomingBookings', { path: { id }, query, ...options }),
});
