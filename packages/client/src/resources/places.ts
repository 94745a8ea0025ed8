// Reads locations, bays and a bay's upcoming bookings, and manages opening hours.
import type { RequestOptions, Send } from '../operations.ts';
import type {
  BayQuery,
  BookingBay,
  BookingBayList,
  BookingList,
  BookingLocation,
  BookingLocationList,
  LocationQuery,
  OpeningHours,
  SetOpeningHours,
  UpcomingBookingsQuery,
  UpdateBay,
} from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, conditional, type Versioned, versioned } from './versions.ts';

export type Locations = ReturnType<typeof createLocations>;
export type Bays = ReturnType<typeof createBays>;

export const createLocations = (send: Send) => ({
  /** Lists locations by `name`. */
  list: (query: LocationQuery = {}, options?: RequestOptions): PagedList<BookingLocationList> =>
    pagedList(send, 'listBookingLocations', { query, ...options }),
  get: async (id: string, options?: RequestOptions): Promise<BookingLocation> =>
    (await send('getBookingLocation', { path: { id }, ...options })).data,
  getOpeningHours: async (id: string, options?: RequestOptions): Promise<Versioned<OpeningHours>> =>
    versioned(await send('getOpeningHours', { path: { id }, ...options })),
  setOpeningHours: async (
    id: string,
    hours: SetOpeningHours,
    options?: ChangeOptions,
  ): Promise<Versioned<OpeningHours>> =>
    versioned(await send('setOpeningHours', { path: { id }, body: hours, ...conditional(options) })),
  /** A location without opening hours is always open. */
  deleteOpeningHours: async (id: string, options?: ChangeOptions): Promise<void> => {
    await send('deleteOpeningHours', { path: { id }, ...conditional(options) });
  },
});

export const createBays = (send: Send) => ({
  /** Lists the bays of one location, or of all facilities of the token, by `name`. */
  list: (query: BayQuery = {}, options?: RequestOptions): PagedList<BookingBayList> =>
    pagedList(send, 'listBookingBays', { query, ...options }),
  get: async (id: string, options?: RequestOptions): Promise<Versioned<BookingBay>> =>
    versioned(await send('getBookingBay', { path: { id }, ...options })),
  /** Renames a bay, changes its description, or takes it out of service. Needs the scope `golf/schedule`. */
  update: async (id: string, bay: UpdateBay, options?: ChangeOptions): Promise<Versioned<BookingBay>> =>
    versioned(await send('updateBookingBay', { path: { id }, body: bay, ...conditional(options) })),
  upcomingBookings: (id: string, query: UpcomingBookingsQuery = {}, options?: RequestOptions): PagedList<BookingList> =>
    pagedList(send, 'listUpcomingBookings', { path: { id }, query, ...options }),
});
