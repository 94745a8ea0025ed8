// Tests that the gaps of a bay and the conflicts of an interval agree.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createSchedule } from '../opening-hours/schedule.ts';
import { contains, type Interval } from '../time/interval.ts';
import { type BayState, findConflicts, findGaps } from './rule.ts';

const hourMs = 3_600_000;
const monday = Date.UTC(2030, 0, 7);
const at = (hours: number): number => monday + hours * hourMs;
const range: Interval = { start: at(0), end: at(24) };

const interval = (minLength: number) =>
  fc.tuple(fc.nat(22), fc.integer({ min: minLength, max: 4 })).map(([start, length]) => ({
    start: at(start),
    end: at(Math.min(start + length, 24)),
  }));
const schedule = createSchedule(
  {
    weekly: {
      monday: [
        { opens: '06:00', closes: '12:00' },
        { opens: '14:00', closes: '02:00' },
      ],
    },
    exceptions: [],
  },
  'UTC',
);
const expiresAt = '2030-01-01T00:00:00.000Z';
const bays: fc.Arbitrary<BayState> = fc.record({
  bookable: fc.boolean(),
  schedule: fc.constant(schedule),
  closures: fc.array(
    interval(1).map((closed) => ({ ...closed, reason: null })),
    { maxLength: 2 },
  ),
  bookings: fc.array(interval(0), { maxLength: 4 }),
  holds: fc.array(
    interval(0).map((held) => ({ ...held, expiresAt })),
    { maxLength: 2 },
  ),
});

test('an interval has no conflict exactly if it lies in a gap', () => {
  fc.assert(
    fc.property(bays, interval(0), (bay, requested) => {
      const isInGap = findGaps(bay, range).some((gap) => contains(gap, requested));
      expect(findConflicts(bay, requested).length === 0).toBe(isInGap);
    }),
    { numRuns: 2_000 },
  );
});

test('every conflict is reported, with the reason of the first closure and the latest expiry of a hold', () => {
  const requested = { start: at(1), end: at(15) };
  const bay: BayState = {
    bookable: true,
    schedule: createSchedule({ weekly: { monday: [{ opens: '00:00', closes: '00:00' }] }, exceptions: [] }, 'UTC'),
    closures: [
      { start: at(2), end: at(3), reason: 'Cleaning' },
      { start: at(4), end: at(5), reason: null },
    ],
    bookings: [],
    holds: [
      { start: at(6), end: at(7), expiresAt: '2030-01-01T00:02:00.000Z' },
      { start: at(8), end: at(9), expiresAt },
    ],
  };
  const heldUntil = '2030-01-01T00:02:00.000Z';
  const held = { code: 'BOOK00002', moreInfo: `held until ${heldUntil}`, context: { heldUntil } };
  const blocked = { code: 'BOOK00003', moreInfo: 'blocked: Cleaning', context: { closure: 'Cleaning' } };
  expect(findConflicts(bay, requested)).toEqual([held, blocked]);
  expect(findConflicts(bay, requested, { ignoresHoursAndClosures: true })).toEqual([held]);
  const [start, end] = [at(10), at(30)];
  expect(findConflicts({ ...bay, bookings: [{ start, end: at(11) }] }, { start, end })).toEqual([
    { code: 'BOOK00002', moreInfo: '' },
    { code: 'BOOK00003', moreInfo: 'closed', context: { closure: 'closed' } },
  ]);
  expect(findConflicts({ ...bay, bookable: false }, undefined)).toEqual([{ code: 'BOOK00003', moreInfo: '' }]);
  expect(findConflicts(undefined, requested)).toEqual([{ code: 'ERR00012', moreInfo: '' }]);
});
