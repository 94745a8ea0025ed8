// Offers other bays and times after a rejection and lists times that can be chosen with one tap.
import { BookingsApiError, type CreateBooking } from '@bay-booking/client';
import { intervalOf, timesOf } from '../../src/time/interval.ts';
import { api } from '../api.ts';
import { readGaps } from '../data/read.ts';
import { bayNameOf, type Day, type SheetBooking } from '../day/day.ts';
import { offersFor, type TimeChoice } from '../day/free.ts';
import { RejectedBookings, type RequestedBooking } from '../day/sentences.ts';
import { rangeOf } from '../day/time.ts';
import { button, type Child, h, listOf } from '../dom.ts';
import type { Form } from './form.ts';
import { timeValues } from './time-fields.ts';

const takenCodes: readonly string[] = ['BOOK00002', 'BOOK00003'];

/** The bays and the time of bookings at one time. */
const choiceOf = (bookings: readonly RequestedBooking[]): TimeChoice => ({
  bayIds: bookings.map(({ bayId }) => bayId),
  ...intervalOf(bookings[0] as RequestedBooking),
});

/** Returns nothing unless bookings at one time were rejected because a bay is not free. `own` is not in the way. */
async function findOffers(error: unknown, day: Day, own?: SheetBooking): Promise<TimeChoice[]> {
  if (!(error instanceof RejectedBookings && error.cause instanceof BookingsApiError)) return [];
  const { requested, cause } = error;
  const problems = cause.problems.filter(({ code }) => takenCodes.includes(code));
  const [first] = requested;
  const isOneTime = requested.every(
    ({ startDate, endDate }) => startDate === first?.startDate && endDate === first?.endDate,
  );
  if (!first || problems.length === 0 || !isOneTime) return [];
  const rejected = new Set(problems.map(({ contextData }) => requested[Number(contextData.index ?? 0)]?.bayId ?? ''));
  const wanted = choiceOf(requested);
  // What cannot be read, for example of more than 32 days, is not offered. The rejection itself says what is wrong.
  const gaps = await readGaps(api, day, wanted, first.bayId === own?.bayId ? own : undefined).catch(() => []);
  const offers = offersFor(gaps, wanted, [...rejected], Date.now());
  return offers.filter(({ start, bayIds }) => bayIds[0] !== own?.bayId || start !== Date.parse(own?.startDate ?? ''));
}

export const describeChoice = ({ bayIds, ...interval }: TimeChoice, day: Day): Child[] =>
  listOf(...bayIds.map((id) => bayNameOf(day, id)), rangeOf(timesOf(interval), day));

/** Returns a button for each bay and time that is free instead of what was rejected. */
export async function offersAfter(
  error: unknown,
  day: Day,
  take: (choice: TimeChoice) => void,
  own?: SheetBooking,
): Promise<readonly HTMLElement[]> {
  const buttons = (await findOffers(error, day, own)).map((choice) =>
    button(['Take ', ...describeChoice(choice, day)], () => take(choice)),
  );
  return buttons.length > 0 ? [h('div.offers', h('p', 'Free instead:'), ...buttons)] : [];
}

/**
 * Shows offers in a form after a rejection and throws the rejection again. A tap on an offer submits the form with it.
 */
export const offerInstead =
  (form: Form, day: Day, own?: SheetBooking) =>
  async (error: unknown): Promise<never> => {
    const take = (choice: TimeChoice) => form.submitWith({ bayId: choice.bayIds, ...timeValues(choice, day) });
    form.showBelow(...(await offersAfter(error, day, take, own)));
    throw error;
  };

/** The page sends a request for each time that it looks up. */
const maxLookedUp = 20;

/**
 * Offers to book all of a series, with the nearest free bays at the same times instead of those that are not `free`.
 * Returns nothing if one of these times has no free bay, or if there are many.
 */
export async function offerOtherBays(
  requested: readonly CreateBooking[],
  free: readonly CreateBooking[],
  day: Day,
  take: (bookings: readonly CreateBooking[]) => void,
): Promise<readonly HTMLElement[]> {
  if (requested.length - free.length > maxLookedUp) return [];
  const times = [...Map.groupBy(requested, ({ startDate }) => startDate).values()];
  const found = await Promise.all(
    times.map(async (bookings) => {
      const rejected = bookings.filter((booking) => !free.includes(booking)).map(({ bayId }) => bayId);
      if (rejected.length === 0) return bookings;
      const wanted = choiceOf(bookings);
      const gaps = await readGaps(api, day, wanted).catch(() => []);
      const offer = offersFor(gaps, wanted, rejected, Date.now()).find(({ start }) => start === wanted.start);
      return bookings.flatMap((booking, index) => (offer ? { ...booking, bayId: offer.bayIds[index] ?? '' } : []));
    }),
  );
  const all = found.flat();
  if (all.length < requested.length) return [];
  const changed = all.filter(({ bayId }, index) => bayId !== requested[index]?.bayId);
  const items = changed.map((booking) => h('li', ...describeChoice(choiceOf([booking]), day)));
  const label = `Book all ${all.length} with these bays`;
  return [h('p', 'Free instead:'), h('ul.dates', ...items), button(label, () => take(all))];
}
