// Holds one day of a location: its bays, bookings, closures and opening hours.
import type {
  Booking,
  BookingBay,
  BookingChange,
  BookingLocation,
  BookingsClient,
  Closure,
  OpeningHours,
} from '@bay-booking/client';
import { createSchedule } from '../../src/opening-hours/schedule.ts';
import { doOverlap, type Interval, intervalOf, subtract } from '../../src/time/interval.ts';
import { backgroundClient } from '../api.ts';
import { type DayTimes, dayOf } from './time.ts';

/** A booking without its links. The search, the feed and single bookings have other links. */
export type SheetBooking = Omit<Booking, '_links'>;

export interface Day extends DayTimes {
  readonly location: BookingLocation;
  /** In natural order. */
  readonly bays: readonly BookingBay[];
  readonly bookings: Map<string, SheetBooking>;
  closures: readonly Closure[];
  hours: OpeningHours;
}

/** Keeps the query string of a search short enough for every proxy. */
const baysPerSearch = 100;

/** Finds the bookings that overlap the times. */
export async function findBookings(
  on: BookingsClient,
  bayIds: readonly string[],
  { startDate, endDate }: { readonly startDate: string; readonly endDate: string },
): Promise<SheetBooking[]> {
  const chunks = Array.from({ length: Math.ceil(bayIds.length / baysPerSearch) }, (_, index) =>
    bayIds.slice(index * baysPerSearch, (index + 1) * baysPerSearch),
  );
  // With `locationIds` instead, the search would omit bookings over midnight.
  const found = chunks.map((chunk) =>
    on.bookings.search({ bayIds: chunk, startDate, endDate, pageSize: 1_000 }).toArray(),
  );
  return (await Promise.all(found)).flat();
}

const datesOf = ({ start, end }: DayTimes) => ({
  startDate: new Date(start).toISOString(),
  endDate: new Date(end).toISOString(),
});

const findClosures = (location: BookingLocation, times: DayTimes): Promise<Closure[]> =>
  backgroundClient.closures.list({ locationIds: [location.id], ...datesOf(times), pageSize: 1_000 }).toArray();

/** Returns the day, and the position of the change feed before the day was read. */
export async function loadDay(location: BookingLocation, date: string): Promise<{ day: Day; position: string }> {
  const times = dayOf(date, location.timeZone);
  const { data: end } = await backgroundClient.request('listBookingChanges', {
    query: { facilityId: location.facilityId, latest: true },
  });
  const [bays, closures, hours] = await Promise.all([
    backgroundClient.bays.list({ locationId: location.id }).toArray(),
    findClosures(location, times),
    backgroundClient.locations.getOpeningHours(location.id),
  ]);
  const bayIds = bays.map(({ id }) => id);
  const bookings = await findBookings(backgroundClient, bayIds, datesOf(times));
  const day = { ...times, location, bays, closures, hours, bookings: new Map(bookings.map((one) => [one.id, one])) };
  return { day, position: end.next };
}

let refreshes = 0;

/** Reads what the change feed does not report. Returns whether something has changed. */
export async function refreshSchedule(day: Day): Promise<boolean> {
  refreshes += 1;
  const number = refreshes;
  const [closures, hours] = await Promise.all([
    findClosures(day.location, day),
    backgroundClient.locations.getOpeningHours(day.location.id),
  ]);
  // The responses can arrive in another order.
  if (number !== refreshes) return false;
  const changed = JSON.stringify([closures, hours]) !== JSON.stringify([day.closures, day.hours]);
  Object.assign(day, { closures, hours });
  return changed;
}

const isOnDay = (day: Day, booking: SheetBooking): boolean =>
  day.bays.some(({ id }) => id === booking.bayId) && doOverlap(intervalOf(booking), day);

/** Puts the booking of a change into the day, or takes it out. Returns whether the day may have changed. */
export function applyChange(day: Day, change: BookingChange): boolean {
  if (change.state === 'deleted' || !isOnDay(day, change.data)) return day.bookings.delete(change.id);
  day.bookings.set(change.id, change.data);
  return true;
}

export const inOrder = (day: Day): SheetBooking[] => {
  const order = new Map(day.bays.map(({ id }, index) => [id, index]));
  return [...day.bookings.values()].sort(
    (a, b) => a.startDate.localeCompare(b.startDate) || (order.get(a.bayId) ?? 0) - (order.get(b.bayId) ?? 0),
  );
};

/** Returns the parts of the day when the location is closed. The rule is the one that the service applies. */
export function closedHours(day: Day): readonly Interval[] {
  const whole = { start: day.start, end: day.end };
  if (day.hours.alwaysOpen) return [];
  return subtract([whole], createSchedule(day.hours, day.timeZone).openDuring(whole));
}

export const bayNameOf = (day: Day, bayId: string): string =>
  day.bays.find(({ id }) => id === bayId)?.name ?? 'A bay of another location';

/** The day has only the closures of its location and of bays there. */
export const closesBay = ({ bayIds }: Closure, bayId: string): boolean => !bayIds || bayIds.includes(bayId);
