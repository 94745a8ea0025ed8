// Reads locations, bays and a bay's upcoming bookings, and manages opening hours.
import type { RequestOptions, Send } from '../operations.ts';
import type * as api from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, conditional, type Versioned, versioned } from './versions.ts';

export type Locations = ReturnType<typeof createLocations>;
export type Bays = ReturnType<typeof createBays>;

export const createLocations = (send: Send) => ({
  /** Lists locations by `name`. */
  list: (query: api.LocationQuery = {}, options?: RequestOptions): PagedList<api.BookingLocationList> =>
    pagedList(send, 'listBookingLocations', { query, ...options }),
  get: async (id: string, options?: RequestOptions): Promise<api.BookingLocation> =>
    (await send('getBookingLocation', { path: { id }, ...options })).data,
  getOpeningHours: async (id: string, options?: RequestOptions): Promise<Versioned<api.OpeningHours>> =>
    versioned(await send('getOpeningHours', { path: { id }, ...options })),
  setOpeningHours: async (
    id: string,
    hours: api.SetOpeningHours,
    options?: ChangeOptions,
  ): Promise<Versioned<api.OpeningHours>> =>
    versioned(await send('setOpeningHours', { path: { id }, body: hours, ...conditional(options) })),
  /** A location without opening hours is always open. */
  deleteOpeningHours: async (id: string, options?: ChangeOptions): Promise<void> => {
    await send('deleteOpeningHours', { path: { id }, ...conditional(options) });
  },
});

export const createBays = (send: Send) => ({
  /** Lists the bays of one location, or of all facilities of the token, by `name`. */
  list: (query: api.BayQuery = {}, options?: RequestOptions): PagedList<api.BookingBayList> =>
    pagedList(send, 'listBookingBays', { query, ...options }),
  get: async (id: string, options?: RequestOptions): Promise<Versioned<api.BookingBay>> =>
    versioned(await send('getBookingBay', { path: { id }, ...options })),
  /** Renames a bay, changes its description, or takes it out of service. Needs the scope `golf/schedule`. */
  update: async (id: string, bay: api.UpdateBay, options?: ChangeOptions): Promise<Versioned<api.BookingBay>> =>
    versioned(await send('updateBookingBay', { path: { id }, body: bay, ...conditional(options) })),
  upcomingBookings: (
    id: string,
    query: api.UpcomingBookingsQuery = {},
    options?: RequestOptions,
  ): PagedList<api.BookingList> => pagedList(send, 'listUpcomingBookings', { path: { id }, query, ...options }),
});
