// Tests what is free against the rule of the service, in time zones whose clocks change.
import type { BookingBay, Closure, OpeningHours } from '@bay-booking/client';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findGaps } from '../../src/availability/rule.ts';
import { alwaysOpen as alwaysOpenSchedule, createSchedule } from '../../src/opening-hours/schedule.ts';
import { intervalOf, timesOf } from '../../src/time/interval.ts';
import { closesBay, type Occupancy, type SheetBooking } from './day.ts';
import { type BayGaps, describeStatus, findTimes, firstFreeBay, offersFor, statusesAt, withHolds } from './free.ts';
import { clockAt, dayOf, instantAt } from './time.ts';

const bays = ['a', 'b', 'c', 'd'].map((id) => ({ id, name: `Bay ${id}`, bookable: id !== 'd' }) as BookingBay);
const range = (opens: string, closes: string) => [{ opens, closes }];
const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const weekOf = (hours: object) => Object.fromEntries(weekdays.map((day) => [day, hours]));
const alwaysOpen = { alwaysOpen: true, weekly: {}, exceptions: [] } as unknown as OpeningHours;
const sevenToTen = { ...alwaysOpen, alwaysOpen: false, weekly: weekOf(range('07:00', '22:00')) } as OpeningHours;

/** Times such as `18:00`, on the date of the day. A later date is written in full. */
function dayWith(
  date: string,
  timeZone: string,
  booked: readonly (readonly [bay: string, from: string, to: string])[] = [],
  closed: readonly (readonly [bays: string | undefined, from: string, to: string])[] = [],
  hours = alwaysOpen,
) {
  const times = dayOf(date, timeZone);
  const at = (time: string, occurrence = 0) =>
    instantAt({ local: time.includes('T') ? time : `${date}T${time}`, occurrence }, timeZone);
  const between = (from: string, to: string) => timesOf({ start: at(from), end: at(to) });
  const bookings = booked.map(([bayId, from, to], index) => {
    const id = `${bayId}${index}`;
    return [id, { id, bayId, userAlias: id, ...between(from, to) } as SheetBooking] as const;
  });
  const closures = closed.map(
    ([of, from, to]) => ({ id: from, bayIds: of?.split(''), ...between(from, to) }) as Closure,
  );
  const occupancy: Occupancy = { ...times, bays, hours, bookings: new Map(bookings), closures };
  const status = (from: string, to: string, except: readonly string[] = []) =>
    statusesAt(occupancy, { start: at(from), end: at(to) }, except).map((one) => describeStatus(one, times));
  return { times, occupancy, at, status };
}

/** The free times by the rule of the service. */
function gapsOf(occupancy: Occupancy): BayGaps[] {
  const { hours, timeZone } = occupancy;
  const schedule = hours.alwaysOpen ? alwaysOpenSchedule : createSchedule(hours, timeZone);
  const bookings = Map.groupBy(occupancy.bookings.values(), ({ bayId }) => bayId);
  return occupancy.bays.map(({ id, bookable }) => {
    const closures = occupancy.closures.filter((closure) => closesBay(closure, id));
    const state = {
      bookable,
      schedule,
      closures: closures.map((closure) => ({ ...intervalOf(closure), reason: closure.reason ?? null })),
      bookings: (bookings.get(id) ?? []).map(intervalOf),
      holds: [],
    };
    return { bayId: id, free: findGaps(state, occupancy) };
  });
}

const copenhagen = 'Europe/Copenhagen';
const winter = '2027-01-05';

test('each bay says whether it is free, and if not, why and until when', () => {
  const booked = [
    ['a', '18:00', '19:00'],
    ['a', '19:00', '20:00'],
    ['b', '20:00', '21:00'],
    ['c', '17:00', '18:00'],
  ] as const;
  const { status, occupancy, at } = dayWith(winter, copenhagen, booked, [['b', '17:00', '18:30']], sevenToTen);
  expect(status('18:00', '19:00')).toEqual(['booked until 20:00', 'closed until 18:30', 'free', 'not bookable']);
  expect(status('18:00', '19:00', ['a0'])[0]).toBe('free');
  expect(status('18:45', '18:45')).toEqual(['booked until 20:00', 'free', 'free', 'not bookable']);
  expect(status('21:30', '22:30')[0]).toBe('closed until Wed 6 Jan 2027 07:00');
  expect(statusesAt(occupancy, { start: at('18:00'), end: at('18:30') })).toMatchObject([
    { booking: { id: 'a0' }, next: { id: 'a1' } },
    { closure: { id: '17:00' }, next: { id: 'b2' } },
    { kind: 'free', until: at('22:00') },
    {},
  ]);
  const later = statusesAt(occupancy, { start: at('18:30'), end: at('19:30') });
  expect(later[1]).toMatchObject({ kind: 'free', until: at('20:00') });
  expect(firstFreeBay(occupancy, { start: at('18:00'), end: at('19:00') })?.id).toBe('c');
  expect(firstFreeBay(occupancy, { start: at('06:00'), end: at('07:30') })).toBeUndefined();
});

test('a closure that the closed hours continue ends when the location opens, and one that never opens has no end', () => {
  const { status } = dayWith(winter, copenhagen, [], [[undefined, '20:00', '23:00']], sevenToTen);
  expect(status('20:00', '21:00')[0]).toBe('closed until Wed 6 Jan 2027 07:00');
  const never = { alwaysOpen: false, weekly: {}, exceptions: [] } as unknown as OpeningHours;
  expect(dayWith(winter, copenhagen, [], [], never).status('20:00', '21:00')[0]).toBe('closed');
});

test.each([
  [copenhagen, '2027-10-31', '02:00', 'booked until 02:00 CET'],
  ['America/New_York', '2027-11-07', '01:00', 'booked until 01:00 GMT-5'],
  ['Australia/Lord_Howe', '2027-04-04', '01:30', 'booked until 01:30 GMT+10:30'],
])('in %s on %s, a bay that is booked until the second %s says so', (timeZone, date, time, expected) => {
  const { occupancy, at, times } = dayWith(date, timeZone);
  const interval = { start: at(time), end: at(time, 1) };
  const booking = { id: 'x', bayId: 'a', userAlias: 'X', ...timesOf(interval) } as SheetBooking;
  const [first] = statusesAt({ ...occupancy, bookings: new Map([['x', booking]]) }, { start: at(time), end: at(time) });
  expect(first && describeStatus(first, times)).toBe(expected);
});

test('instead of a taken time, the nearest bay and the nearest time of the bay are offered', () => {
  const booked = [
    ['b', '18:00', '21:00'],
    ['a', '18:30', '19:00'],
  ] as const;
  const { occupancy, at } = dayWith(winter, copenhagen, booked, [['b', '16:30', '17:30']]);
  const wanted = { bayIds: ['b'], start: at('18:00'), end: at('19:00') };
  const offersAt = (now: string) => offersFor(gapsOf(occupancy), wanted, ['b'], at(now));
  const bayC = { ...wanted, bayIds: ['c'] };
  expect(offersAt('12:00')).toEqual([bayC, { bayIds: ['b'], start: at('15:30'), end: at('16:30') }]);
  expect(offersAt('16:00')).toEqual([bayC, { bayIds: ['b'], start: at('21:00'), end: at('22:00') }]);
  const full = { ...wanted, start: at('00:00'), end: at('2027-01-06T00:00') };
  expect(offersFor(gapsOf({ ...occupancy, bays: bays.slice(0, 2) }), full, ['b'], at('00:00'))).toEqual([]);
});

test('a party keeps its free bays and gets the nearest others, or moves as a whole', () => {
  const { occupancy, at } = dayWith(winter, copenhagen, [
    ['a', '18:00', '19:00'],
    ['b', '19:00', '20:00'],
  ]);
  const gaps = gapsOf(occupancy);
  const party = (...bayIds: string[]) => ({ bayIds, start: at('18:00'), end: at('19:00') });
  const moved = { start: at('17:00'), end: at('18:00') };
  expect(offersFor(gaps, party('a', 'b'), ['a'], at('12:00'))).toEqual([
    party('c', 'b'),
    { bayIds: ['a', 'b'], ...moved },
  ]);
  expect(offersFor(gaps, party('a', 'b', 'c'), ['a'], at('12:00'))).toEqual([{ bayIds: ['a', 'b', 'c'], ...moved }]);
  // A walk-in begins a few minutes ago. Another time begins at full five minutes.
  const [offer, later] = offersFor(gaps, party('a'), ['a'], at('18:03'));
  expect([offer, later]).toEqual([party('b'), { bayIds: ['a'], start: at('19:00'), end: at('20:00') }]);
});

const wish = { bays: 2, together: true, minutes: 60, dates: [winter], from: '18:00', to: '20:00' };

test('bays next to each other are found, and a bay that is not bookable separates its neighbours', () => {
  const { occupancy, at } = dayWith(winter, copenhagen, [
    ['b', '18:00', '18:30'],
    ['a', '19:00', '20:00'],
  ]);
  const found = findTimes(gapsOf(occupancy), wish, { timeZone: copenhagen, now: 0 });
  const times = (choices: typeof found) =>
    choices.map(({ start, bayIds }) => `${clockAt(start, copenhagen)} ${bayIds}`);
  expect(times(found)).toEqual(['18:30 b,c', '19:00 b,c']);
  expect(times(findTimes(gapsOf(occupancy), { ...wish, together: false }, { timeZone: copenhagen, now: 0 }))).toEqual([
    '18:00 a,c',
    '18:30 b,c',
    '19:00 b,c',
  ]);
  expect(findTimes(gapsOf(occupancy), wish, { timeZone: copenhagen, now: at('18:45') })).toHaveLength(1);
  expect(findTimes(gapsOf(occupancy), wish, { timeZone: copenhagen, now: 0, limit: 1 })).toHaveLength(1);
});

test.each([
  [copenhagen, '2027-10-31', '02:00', '03:00', ['02:00 CEST', '02:30 CEST', '02:00 CET']],
  [copenhagen, '2027-03-28', '01:00', '04:00', ['01:00', '01:30', '03:00']],
  ['America/New_York', '2027-11-07', '00:30', '02:00', ['00:30', '01:00 GMT-4', '01:30 GMT-4', '01:00 GMT-5']],
  ['Australia/Lord_Howe', '2027-10-03', '01:00', '03:30', ['01:00', '01:30', '02:30']],
  [copenhagen, '2027-01-05', '23:00', '00:30', ['23:00', '23:30']],
])('in %s on %s from %s to %s, an hour begins at each half hour', (timeZone, date, from, to, expected) => {
  const start = dayOf(date, timeZone).start;
  const free = [{ bayId: 'a', free: [{ start, end: start + 3 * 86_400_000 }] }];
  const found = findTimes(free, { ...wish, bays: 1, dates: [date], from, to }, { timeZone, now: 0 });
  expect(found.map((choice) => clockAt(choice.start, timeZone))).toEqual(expected);
});

const { start: dayStart } = dayOf(winter, copenhagen);
const quarter = (count: number) => dayStart + count * 900_000;
const intervals = fc.record({
  bay: fc.constantFrom('a', 'b', 'c', 'd'),
  from: fc.integer({ min: 0, max: 90 }),
  length: fc.integer({ min: 1, max: 12 }),
});

test('a bay is free at a time if the rule of the service has a gap there, and found times are those', () => {
  const count = fc.integer({ min: 1, max: 4 });
  const rule = fc.property(
    fc.array(intervals),
    fc.array(intervals),
    intervals,
    fc.boolean(),
    count,
    (booked, closed, asked, together, bayCount) => {
      const times = ({ from, length }: { from: number; length: number }) => ({
        start: quarter(from),
        end: quarter(from + length),
      });
      const bookings = booked.map((one, index) => {
        const booking = { id: `${index}`, bayId: one.bay, userAlias: '', ...timesOf(times(one)) };
        return [booking.id, booking as SheetBooking] as const;
      });
      const closures = closed.map((one) => ({ id: '', bayIds: [one.bay], ...timesOf(times(one)) }) as Closure);
      const { occupancy: empty } = dayWith(winter, copenhagen, [], [], sevenToTen);
      const occupancy = { ...empty, bookings: new Map(bookings), closures };
      const gaps = gapsOf(occupancy);
      const isFree = (bay: number, interval: { start: number; end: number }) =>
        gaps[bay]?.free.some(({ start, end }) => start <= interval.start && interval.end <= end);
      const interval = times(asked);
      for (const [index, { kind, until }] of statusesAt(occupancy, interval).entries()) {
        expect(kind === 'free').toBe(isFree(index, interval));
        if (kind === 'booked') expect(bookings.some(([, one]) => Date.parse(one.endDate) === until)).toBe(true);
        if (kind === 'free' && until) expect(isFree(index, { ...interval, end: until })).toBe(true);
      }
      // The sheet knows nothing of what takes the time.
      const withoutBookings = statusesAt({ ...occupancy, bookings: new Map() }, interval);
      for (const [index, { kind }] of withHolds(withoutBookings, gaps, interval).entries())
        expect(kind === 'free').toBe(isFree(index, interval));
      const all = { bays: bayCount, together, minutes: 45, dates: [winter], from: '00:00', to: '00:00' };
      const found = findTimes(gaps, all, { timeZone: copenhagen, now: 0, limit: 100 });
      for (let start = dayStart; start < quarter(93); start += 1_800_000) {
        const free = [0, 1, 2, 3].filter((bay) => isFree(bay, { start, end: start + 45 * 60_000 }));
        const fits = (first: number) =>
          Array.from({ length: bayCount }, (_, more) => first + more).every((bay) => free.includes(bay));
        const choice = found.find((one) => one.start === start);
        expect(choice !== undefined).toBe(together ? free.some(fits) : free.length >= bayCount);
        if (choice) expect(new Set(choice.bayIds).size).toBe(bayCount);
      }
      for (const offer of offersFor(gaps, { bayIds: [asked.bay], ...interval }, [asked.bay], dayStart)) {
        expect(statusesAt(occupancy, offer).find(({ bay }) => bay.id === offer.bayIds[0])?.kind).toBe('free');
        expect(offer.end - offer.start).toBe(interval.end - interval.start);
      }
    },
  );
  fc.assert(rule, { numRuns: 60 });
});
