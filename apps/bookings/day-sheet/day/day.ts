// Holds one day of a location, its bays, bookings, closures and opening hours, and answers questions about them.
import type { Booking, BookingBay, BookingChange, BookingLocation, Closure, OpeningHours } from '@bay-booking/client';
import { doOverlap, type Interval, intervalOf } from '../../src/time/interval.ts';
import type { DayTimes } from './time.ts';

/** A booking without its links. The search, the feed and single bookings have other links. */
export type SheetBooking = Omit<Booking, '_links'>;
export type SheetEntry = SheetBooking | Closure;

/** What decides between two instants whether bays of a location are free. A day is one. */
export interface Occupancy extends Interval {
  readonly timeZone: string;
  /** In natural order. */
  readonly bays: readonly BookingBay[];
  readonly bookings: ReadonlyMap<string, SheetBooking>;
  readonly closures: readonly Closure[];
  readonly hours: OpeningHours;
}

export interface Day extends Occupancy, DayTimes {
  readonly location: BookingLocation;
  readonly bookings: Map<string, SheetBooking>;
  closures: readonly Closure[];
  hours: OpeningHours;
  /** The parts of the day when the location is closed. */
  closed: readonly Interval[];
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

/** Names are texts of other programs, and can consist of spaces. */
export const nameOf = ({ userAlias }: { readonly userAlias: string }): string => userAlias.trim() || 'Unnamed';

export const bayNameOf = ({ bays }: Pick<Occupancy, 'bays'>, bayId: string): string =>
  bays.find(({ id }) => id === bayId)?.name ?? 'A bay of another location';

/** The day has only the closures of its location and of bays there. */
export const closesBay = ({ bayIds }: Closure, bayId: string): boolean => !bayIds || bayIds.includes(bayId);

/** Says in which closed time an interval of a bay is, if it is in one. */
export function closedTimeOf(day: Day, bayId: string, interval: Interval): string | undefined {
  if (day.closures.some((closure) => closesBay(closure, bayId) && doOverlap(intervalOf(closure), interval)))
    return 'during a closure';
  return day.closed.some((closed) => doOverlap(closed, interval)) ? 'outside the opening hours' : undefined;
}

/** The bays that forms offer. */
export const offeredBays = ({ bays }: Pick<Occupancy, 'bays'>) =>
  bays.filter(({ bookable }) => bookable).map(({ id, name }) => [id, name] as const);

/** The reference, and whether the booking belongs to a group. */
export const detailsOf = ({ externalBookingId, groupId }: SheetBooking): string =>
  [externalBookingId, groupId && 'group'].filter(Boolean).join(' · ');

const folded = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** Whether the name, the reference or a value of the metadata (phone, note and others) contains the text. */
export function matches({ userAlias, externalBookingId = '', metadata }: SheetBooking, text: string): boolean {
  if (text.trim() === '') return true;
  const searched = folded(text.trim());
  return [userAlias, externalBookingId, ...Object.values(metadata ?? {})].some((value) =>
    folded(value).includes(searched),
  );
}
