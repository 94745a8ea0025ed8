// Moves a booking that was dragged, or all bookings of its group, and lets the user undo it.
import { timesOf } from '../../src/time/interval.ts';
import { sentenceOf } from '../data/errors.ts';
import { changeBookings } from '../data/write.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import type { TimeChoice } from '../day/free.ts';
import { type BookingValues, movedLike, type SeriesScope, seriesScopes } from '../day/series.ts';
import { rangeOf } from '../day/time.ts';
import { button, h, listOf, notify } from '../dom.ts';
import { openForm } from './form.ts';
import { offersAfter } from './offers.ts';

/**
 * Moves a booking that was dragged. Asks whether to move its whole group. The move can be undone for 10 seconds.
 * `showRejection` shows a sentence at the booking. Waits until the move of a single booking is saved or rejected.
 */
export async function moveBooking(
  day: Day,
  original: SheetBooking,
  change: BookingValues,
  showRejection: (text: string, ...content: HTMLElement[]) => void,
): Promise<void> {
  const requested = { id: original.id, ...change };
  const where = listOf(bayNameOf(day, change.bayId), rangeOf(change, day));
  const action = actionOf(original, change);
  const fail = async (error: unknown, ...offers: HTMLElement[]) =>
    showRejection(await sentenceOf(error, day, [requested]), ...offers);
  const take = ({ bayIds: [bayId = original.bayId], ...interval }: TimeChoice) =>
    moveBooking(day, original, { ...change, bayId, ...timesOf(interval) }, showRejection);
  const failWithOffers = async (error: unknown) => fail(error, ...(await offersAfter(error, day, take, original)));
  const move = async (scope: SeriesScope) => {
    const changeOf = scope === 'one' ? () => change : movedLike(original, change, day);
    const undo = await changeBookings({ booking: original, scope, day }, changeOf);
    notify([`${action.done} `, ...where, others[scope]], {
      label: 'Undo',
      act: () => undo().catch((error) => fail(error)),
    });
  };
  if (!original.groupId) {
    await move('one').catch(failWithOffers);
    return;
  }
  const form = openForm({
    title: `${action.verb} which bookings?`,
    day,
    kind: 'booking',
    context: original,
    content: [h('p', ...listOf(nameOf(original)), ' to ', ...where)],
    buttons: seriesScopes.map(([scope, label]) =>
      button(label, () => void form.run(() => move(scope)), scope === 'one' ? { class: 'primary' } : {}),
    ),
  });
}

const others: Readonly<Record<SeriesScope, string>> = {
  one: '.',
  date: ', with all of this date.',
  following: ', with all of this and the following dates.',
  all: ', with all of the party.',
};

function actionOf({ bayId, startDate, endDate }: SheetBooking, change: BookingValues) {
  const keepsStart = bayId === change.bayId && Date.parse(startDate) === Date.parse(change.startDate);
  if (!keepsStart) return { verb: 'Move', done: 'Moved to' };
  return Date.parse(change.endDate) > Date.parse(endDate)
    ? { verb: 'Lengthen', done: 'Lengthened:' }
    : { verb: 'Shorten', done: 'Shortened:' };
}
