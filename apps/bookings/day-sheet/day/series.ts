// Calculates series: the dates of a weekly series, which of them are not free, and which bookings a change is for.
import type { CreateBooking } from '@bay-booking/client';
import type { Period } from '../../src/time/interval.ts';
import { changedLike } from './customer.ts';
import { bayNameOf, type Day, type SheetBooking } from './day.ts';
import { type Description, SentenceError } from './sentences.ts';
import { dateAt, instantAt, moveLike, shortDateAt, type WallTime } from './time.ts';

export interface WallTimes {
  readonly start: WallTime;
  readonly end: WallTime;
}

/** Returns the times of `weeks` weeks, each at the same wall-clock time. The first may be empty. */
export const weeklyTimes = ({ start, end }: WallTimes, timeZone: string, weeks = 1): Period[] =>
  Array.from({ length: weeks }, (_, week) => {
    const [startDate, endDate] = [start, end].map((time) => new Date(instantAt(time, timeZone, week)).toISOString());
    return { startDate: startDate as string, endDate: endDate as string };
  });

/** What a booking of a series has beside its bay and its time. */
type SharedValues = Omit<CreateBooking, 'bayId' | 'startDate' | 'endDate'>;

/** Returns a booking of each bay at each time. A reference is unique, so each further booking gets its number. */
export function bookingsOf(
  times: readonly Period[],
  bayIds: readonly string[],
  { externalBookingId, ...shared }: SharedValues,
): CreateBooking[] {
  return times
    .flatMap((time) => bayIds.map((bayId) => ({ ...shared, bayId, ...time })))
    .map((booking, index) =>
      externalBookingId
        ? { ...booking, externalBookingId: index === 0 ? externalBookingId : `${externalBookingId}-${index + 1}` }
        : booking,
    );
}

const counted = (count: number, one: string, several = `${one}s`): string => `${count} ${count === 1 ? one : several}`;

/** Returns `8 dates`, or `24 times on 8 dates` if there are several bookings on a date. */
export function describeCount(bookings: readonly Period[], timeZone: string): string {
  const dates = new Set(bookings.map(({ startDate }) => dateAt(Date.parse(startDate), timeZone))).size;
  const text = counted(dates, 'date');
  return dates === bookings.length ? text : `${counted(bookings.length, 'time')} on ${text}`;
}

export interface SeriesCheck {
  /** In order of time: what is in the way, such as `Tue 15 Dec 2026: Bay 2 is booked from 18:00 by William.` */
  readonly conflicts: readonly string[];
  /** The bookings without a conflict. */
  readonly free: readonly CreateBooking[];
}

/** Sorts out which requested bookings the service would reject. */
export function checkSeries(
  requested: readonly CreateBooking[],
  problems: readonly Description[],
  { timeZone }: Pick<Day, 'timeZone'>,
): SeriesCheck {
  const textsOf = (index: number) => problems.filter((problem) => problem.index === index).map(({ text }) => text);
  const conflicts = requested
    .map(({ startDate }, index) => ({ startDate, texts: textsOf(index) }))
    .filter(({ texts }) => texts.length > 0)
    .toSorted((a, b) => a.startDate.localeCompare(b.startDate))
    .map(({ startDate, texts }) => `${shortDateAt(startDate, timeZone)}: ${texts.join(' ')}`);
  return { conflicts, free: requested.filter((_, index) => textsOf(index).length === 0) };
}

/** For which bookings of a group a change is. */
export const seriesScopes = [
  ['one', 'This booking'],
  ['date', 'This date'],
  ['following', 'This and the following dates'],
  ['all', 'All'],
] as const;

export type SeriesScope = (typeof seriesScopes)[number][0];

/** Returns the bookings of a group that a change of one of them is for. A date is one on the wall clock. */
export function bookingsInScope<Member extends SheetBooking>(
  group: readonly Member[],
  { id, startDate }: Pick<SheetBooking, 'id' | 'startDate'>,
  scope: SeriesScope,
  timeZone: string,
): Member[] {
  const dateOf = (time: string) => dateAt(Date.parse(time), timeZone);
  const date = dateOf(startDate);
  return group.filter((member) => {
    if (scope === 'one') return member.id === id;
    if (scope === 'date') return dateOf(member.startDate) === date;
    return scope === 'all' || dateOf(member.startDate) >= date;
  });
}

/** What a change of a booking sets. The metadata stays if it is left out. */
export type BookingValues = Pick<SheetBooking, 'bayId' | 'userAlias' | 'startDate' | 'endDate' | 'metadata'>;

/** Moves each booking of a group by as many bays and minutes as the changed one and edits the same fields. */
export function movedLike(
  original: SheetBooking,
  change: BookingValues,
  day: Pick<Day, 'bays' | 'timeZone'>,
): (booking: SheetBooking) => BookingValues {
  const indexOf = (bayId: string) => day.bays.findIndex(({ id }) => id === bayId);
  const bays = indexOf(change.bayId) - indexOf(original.bayId);
  /** Each booking keeps its wall-clock time, also if the clocks change between the dates. */
  const shift = (time: string, from: string, to: string) =>
    new Date(moveLike(Date.parse(time), Date.parse(from), Date.parse(to), day.timeZone)).toISOString();
  return ({ bayId, userAlias, startDate, endDate, metadata }) => {
    const index = indexOf(bayId);
    const target = bays === 0 ? bayId : index >= 0 && day.bays[index + bays]?.id;
    if (!target)
      throw new SentenceError(`The group cannot move there, because no bay is as far from ${bayNameOf(day, bayId)}.`);
    const moved = {
      startDate: shift(startDate, original.startDate, change.startDate),
      endDate: shift(endDate, original.endDate, change.endDate),
    };
    if (startDate < endDate && moved.startDate >= moved.endDate)
      throw new SentenceError(`On ${shortDateAt(moved.startDate, day.timeZone)}, no time remains.`, 'endDate');
    return {
      bayId: target,
      userAlias: change.userAlias === original.userAlias ? userAlias : change.userAlias,
      ...moved,
      ...(change.metadata && { metadata: changedLike({ metadata }, original, change.metadata) }),
    };
  };
}
