// Reads days, bookings and closures, and remembers the days that were read.
import type { BookingLocation, BookingsClient, Closure, OpeningHours } from '@bay-booking/client';
import { type Interval, intervalOf, join, type Period, timesOf } from '../../src/time/interval.ts';
import { backgroundApi } from '../api.ts';
import type { Day, Occupancy, SheetBooking } from '../day/day.ts';
import { type BayGaps, closedDuring } from '../day/free.ts';
import { dateAt, dayOf } from '../day/time.ts';

/** A day, and the position of the change feed before the day was read. */
interface ReadDay {
  readonly day: Day;
  readonly position: string;
}

/** Keeps the query string of a search short enough for every proxy, and a full day of these bays on one page. */
const baysPerSearch = 50;

/** Finds the bookings that overlap the times, `limit` at most. */
export async function findBookings(
  on: BookingsClient,
  bayIds: readonly string[],
  { startDate, endDate }: Pick<Period, 'startDate'> & Partial<Period>,
  limit = Number.POSITIVE_INFINITY,
): Promise<SheetBooking[]> {
  const times = { startDate, ...(endDate !== undefined && { endDate }) };
  const chunks = Map.groupBy(bayIds, (_, index) => Math.floor(index / baysPerSearch)).values();
  // With `locationIds` instead, the search would omit bookings over midnight.
  const found: SheetBooking[] = [];
  const read = async (chunk: string[]) => {
    for await (const booking of on.bookings.search({ bayIds: chunk, ...times, pageSize: 1_000 })) {
      if (found.length >= limit) return;
      found.push(booking);
    }
  };
  await Promise.all(chunks.map(read));
  return found;
}

const findClosures = (location: BookingLocation, interval: Interval): Promise<Closure[]> =>
  backgroundApi.closures.list({ locationIds: [location.id], ...timesOf(interval), pageSize: 1_000 }).toArray();

/** Widens an interval to whole days. */
const daysOf = ({ start, end }: Interval, timeZone: string): Interval => ({
  start: dayOf(dateAt(start, timeZone), timeZone).start,
  end: dayOf(dateAt(Math.max(start, end - 1), timeZone), timeZone).end,
});

/** Reads what decides about the bays of the day on the days of another interval. */
export async function readOccupancy(day: Day, interval: Interval): Promise<Occupancy> {
  if (interval.start >= day.start && interval.end <= day.end) return day;
  const { bays, hours, timeZone, location } = day;
  const days = daysOf(interval, timeZone);
  const bayIds = bays.map(({ id }) => id);
  const [bookings, closures] = await Promise.all([
    findBookings(backgroundApi, bayIds, timesOf(days)),
    findClosures(location, days),
  ]);
  return { ...days, timeZone, bays, hours, closures, bookings: new Map(bookings.map((one) => [one.id, one])) };
}

/**
 * Reads when the bays of the location are free on the days of an interval, at most 32. Times that are over count as
 * free, because a walk-in begins some minutes ago. So does the time of `own`.
 */
export async function readGaps(
  on: BookingsClient,
  { location }: Day,
  interval: Interval,
  own?: SheetBooking,
): Promise<BayGaps[]> {
  const days = daysOf(interval, location.timeZone);
  const query = { locationIds: [location.id], ...timesOf(days), pageSize: 1_000 };
  const gaps: BayGaps[] = [];
  for await (const { items, asOf } of on.availability.search(query).pages()) {
    const over = { start: days.start, end: Math.max(days.start, Date.parse(asOf)) };
    for (const { bay, free } of items) {
      const others = own?.bayId === bay.id ? [over, intervalOf(own)] : [over];
      gaps.push({ bayId: bay.id, free: join([...others, ...free.map(intervalOf)]) });
    }
  }
  return gaps;
}

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
  const query = { facilityId: location.facilityId, latest: true };
  // The bookings are read after the position, so the feed has every change that they lack.
  const [{ data: end }, bays, closures, hours] = await Promise.all([
    backgroundApi.request('listBookingChanges', { query }),
    backgroundApi.bays.list({ locationId: location.id }).toArray(),
    findClosures(location, times),
    backgroundApi.locations.getOpeningHours(location.id),
  ]);
  const bayIds = bays.map(({ id }) => id);
  const bookings = await findBookings(backgroundApi, bayIds, timesOf(times));
  const day = {
    ...times,
    location,
    bays,
    closures,
    hours,
    closed: closedDuring({ hours, timeZone: times.timeZone }, times),
    bookings: new Map(bookings.map((one) => [one.id, one])),
  };
  const read = { day, position: end.next };
  readDays.delete(keyOf(location, date));
  readDays.set(keyOf(location, date), read);
  for (const oldest of [...readDays.keys()].slice(0, -maxReadDays)) readDays.delete(oldest);
  return read;
}

/** Whether a bay was added, removed or changed. The sheet has a column for each bay, so it must then be drawn again. */
export async function haveBaysChanged({ location, bays }: Day): Promise<boolean> {
  const current = await backgroundApi.bays.list({ locationId: location.id }).toArray();
  return JSON.stringify(current) !== JSON.stringify(bays);
}

/**
 * Returns a function that begins a request and returns whether this request is still the latest one. Responses can
 * arrive in another order than their requests.
 */
export function trackLatest(): () => () => boolean {
  let latest = 0;
  return () => {
    latest += 1;
    const own = latest;
    return () => own === latest;
  };
}

const beginRefresh = trackLatest();

/** Reads what the change feed does not report. Returns whether something has changed. */
export async function refreshSchedule(day: Day): Promise<boolean> {
  const isLatest = beginRefresh();
  const [closures, hours] = await Promise.all([
    findClosures(day.location, day),
    backgroundApi.locations.getOpeningHours(day.location.id),
  ]);
  if (!isLatest()) return false;
  const changed = JSON.stringify([closures, hours]) !== JSON.stringify([day.closures, day.hours]);
  Object.assign(day, { closures, hours, closed: closedDuring({ ...day, hours }, day) });
  return changed;
}
