// Offers other bays and times after a rejection and lists times that can be chosen with one tap.
import { BookingsApiError } from '@bay-booking/client';
import { intervalOf, join, timesOf } from '../../src/time/interval.ts';
import { api } from '../api.ts';
import { readGaps } from '../data/read.ts';
import { bayNameOf, type Day, type SheetBooking } from '../day/day.ts';
import { offersFor, type TimeChoice } from '../day/free.ts';
import { RejectedBookings } from '../day/sentences.ts';
import { rangeOf } from '../day/time.ts';
import { button, type Child, h, listOf } from '../dom.ts';
import type { Form } from './form.ts';
import { timeValues } from './time-fields.ts';

const takenCodes: readonly string[] = ['BOOK00002', 'BOOK00003'];

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
  const wanted = { bayIds: requested.map(({ bayId }) => bayId), ...intervalOf(first) };
  // What cannot be read, for example of more than 32 days, is not offered. The rejection itself says what is wrong.
  const gaps = await readGaps(api, day, wanted).catch(() => []);
  const withOwn = gaps.map(({ bayId, free }) => ({
    bayId,
    free: own?.bayId === bayId && first.bayId === bayId ? join([...free, intervalOf(own)]) : free,
  }));
  const offers = offersFor(withOwn, wanted, [...rejected], Date.now());
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
