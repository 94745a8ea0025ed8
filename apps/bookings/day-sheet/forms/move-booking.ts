// Moves a booking that was dragged, or all bookings of its group, and lets the user undo it.
import { describeError } from '../data/errors.ts';
import { changeBookings } from '../data/write.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { type BookingValues, movedLike } from '../day/series.ts';
import { rangeOf } from '../day/time.ts';
import { button, h, listOf, notify } from '../dom.ts';
import { openForm } from './form.ts';

/**
 * Moves a booking that was dragged. Asks whether to move its whole group. The move can be undone for 10 seconds.
 * `showRejection` shows a sentence at the booking.
 */
export function moveBooking(
  day: Day,
  original: SheetBooking,
  change: BookingValues,
  showRejection: (text: string) => void,
): void {
  const requested = { id: original.id, ...change };
  const where = listOf(bayNameOf(day, change.bayId), rangeOf(change, day));
  const action = actionOf(original, change);
  const fail = async (error: unknown) => {
    const described = await describeError(error, day, [requested]);
    showRejection(described.map((problem) => problem.text).join(' '));
  };
  const move = async (all: boolean) => {
    const changeOf = all ? movedLike(original, change, day) : () => change;
    const undo = await changeBookings({ booking: original, all, day }, changeOf);
    notify([`${action.done} `, ...where, all ? ', with all of the party.' : '.'], {
      label: 'Undo',
      act: () => undo().catch(fail),
    });
  };
  if (!original.groupId) return void move(false).catch(fail);
  const form = openForm({
    title: `${action.verb} which bookings?`,
    day,
    kind: 'booking',
    context: original,
    content: [h('p', {}, ...listOf(nameOf(original)), ' to ', ...where)],
    buttons: [
      button('This one', () => void form.run(() => move(false)), { class: 'primary' }),
      button('All of the party', () => void form.run(() => move(true))),
    ],
  });
}

function actionOf({ bayId, startDate, endDate }: SheetBooking, change: BookingValues) {
  const keepsStart = bayId === change.bayId && Date.parse(startDate) === Date.parse(change.startDate);
  if (!keepsStart) return { verb: 'Move', done: 'Moved to' };
  return Date.parse(change.endDate) > Date.parse(endDate)
    ? { verb: 'Lengthen', done: 'Lengthened:' }
    : { verb: 'Shorten', done: 'Shortened:' };
}
