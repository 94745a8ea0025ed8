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
  /** The parts of the day when the location is closed. */
  closed: readonly Interval[];
}

/** A day, and the position of the change feed before the day was read. */
interface ReadDay {
  readonly day: Day;
  readonly position: string;
}

/** Keeps the query string of a search short enough for every proxy. */
const baysPerSearch = 100;

/** Finds the bookings that overlap the times, `limit` at most. */
export async function findBookings(
  on: BookingsClient,
  bayIds: readonly string[],
  { startDate, endDate }: { readonly startDate: string; readonly endDate?: string },
  limit = Number.POSITIVE_INFINITY,
): Promise<SheetBooking[]> {
  const chunks = Array.from({ length: Math.ceil(bayIds.length / baysPerSearch) }, (_, index) =>
    bayIds.slice(index * baysPerSearch, (index + 1) * baysPerSearch),
  );
  // With `locationIds` instead, the search would omit bookings over midnight.
  const found: SheetBooking[] = [];
  const read = async (chunk: string[]) => {
    const times = { startDate, ...(endDate !== undefined && { endDate }) };
    for await (const booking of on.bookings.search({ bayIds: chunk, ...times, pageSize: 1_000 })) {
      if (found.length >= limit) return;
      found.push(booking);
    }
  };
  await Promise.all(chunks.map(read));
  return found;
}

const datesOf = ({ start, end }: DayTimes) => ({
  startDate: new Date(start).toISOString(),
  endDate: new Date(end).toISOString(),
});

const findClosures = (location: BookingLocation, times: DayTimes): Promise<Closure[]> =>
  backgroundClient.closures.list({ locationIds: [location.id], ...datesOf(times), pageSize: 1_000 }).toArray();

/** The last days that were read, for times without a connection. They stay in memory, where no other user sees them. */
const readDays = new Map<string, ReadDay>();
const maxReadDays = 30;
const keyOf = (location: BookingLocation, date: string): string => `${location.id} ${date}`;

export const findReadDay = (location: BookingLocation, date: string): ReadDay | undefined =>
  readDays.get(keyOf(location, date));

/** A day about which the page knows only the bays. */
export function createUnreadDay(location: BookingLocation, date: string): Day {
  const known = [...readDays.values()].find(({ day }) => day.location.id === location.id);
  const hours = { alwaysOpen: true, weekly: {}, exceptions: [] } as Partial<OpeningHours> as OpeningHours;
  return {
    ...dayOf(date, location.timeZone),
    location,
    bays: known?.day.bays ?? [],
    bookings: new Map(),
    closures: [],
    hours: known?.day.hours ?? hours,
    closed: [],
  };
}

export async function loadDay(location: BookingLocation, date: string): Promise<ReadDay> {
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
  const closed = closedHours(hours, times);
  const day = {
    ...times,
    location,
    bays,
    closures,
    hours,
    closed,
    bookings: new Map(bookings.map((one) => [one.id, one])),
  };
  const read = { day, position: end.next };
  readDays.delete(keyOf(location, date));
  readDays.set(keyOf(location, date), read);
  for (const oldest of [...readDays.keys()].slice(0, -maxReadDays)) readDays.delete(oldest);
  return read;
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
  Object.assign(day, { closures, hours, closed: closedHours(hours, day) });
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

/** The rule is the one that the service applies. */
function closedHours(hours: OpeningHours, { start, end, timeZone }: DayTimes): readonly Interval[] {
  if (hours.alwaysOpen) return [];
  return subtract([{ start, end }], createSchedule(hours, timeZone).openDuring({ start, end }));
}

/** Names are texts of other programs, and can consist of spaces. */
export const nameOf = ({ userAlias }: { readonly userAlias: string }): string => userAlias.trim() || 'Unnamed';

export const bayNameOf = (day: Day, bayId: string): string =>
  day.bays.find(({ id }) => id === bayId)?.name ?? 'A bay of another location';

/** The day has only the closures of its location and of bays there. */
export const closesBay = ({ bayIds }: Closure, bayId: string): boolean => !bayIds || bayIds.includes(bayId);

/** Says in which closed time an interval of a bay is, if it is in one. */
export function closedTimeOf(day: Day, bayId: string, interval: Interval): string | undefined {
  if (day.closures.some((closure) => closesBay(closure, bayId) && doOverlap(intervalOf(closure), interval)))
    return 'during a closure';
  return day.closed.some((closed) => doOverlap(closed, interval)) ? 'outside the opening hours' : undefined;
}

/** Returns a bay that is free, the first one from `from` on, or undefined. */
export const findFreeBay = (day: Day, from: number, interval: Interval): BookingBay | undefined =>
  [...day.bays.slice(from), ...day.bays.slice(0, from)].find(
    ({ id, bookable }) =>
      bookable &&
      closedTimeOf(day, id, interval) === undefined &&
      !day.bookings.values().some((booking) => booking.bayId === id && doOverlap(intervalOf(booking), interval)),
  );
