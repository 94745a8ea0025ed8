// Moves a booking that was dragged, or all bookings of its group, and lets the user undo it.
import { type Change, changeBookings } from '../day/bookings.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { describeError, SentenceError } from '../day/sentences.ts';
import { moveLike, rangeOf, shortDateAt } from '../day/time.ts';
import { button, h, listOf, notify } from '../dom.ts';
import { openForm } from './form.ts';

/** Moves each booking of a group by as many bays and minutes as the changed one, and gives it the same name. */
export function movedLike(original: SheetBooking, change: Change, day: Day): (booking: SheetBooking) => Change {
  const indexOf = (bayId: string) => day.bays.findIndex(({ id }) => id === bayId);
  const bays = indexOf(change.bayId) - indexOf(original.bayId);
  /** Each booking keeps its wall-clock time, also if the clocks change between the dates. */
  const shift = (time: string, from: string, to: string) =>
    new Date(moveLike(Date.parse(time), Date.parse(from), Date.parse(to), day.timeZone)).toISOString();
  return ({ bayId, userAlias, startDate, endDate }) => {
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
    };
  };
}

/**
 * Moves a booking that was dragged. Asks whether to move its whole group. The move can be undone for 10 seconds.
 * `showRejection` shows a sentence at the booking.
 */
export function moveBooking(
  day: Day,
  original: SheetBooking,
  change: Change,
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

function actionOf({ bayId, startDate, endDate }: SheetBooking, change: Change) {
  const keepsStart = bayId === change.bayId && Date.parse(startDate) === Date.parse(change.startDate);
  if (!keepsStart) return { verb: 'Move', done: 'Moved to' };
  return Date.parse(change.endDate) > Date.parse(endDate)
    ? { verb: 'Lengthen', done: 'Lengthened:' }
    : { verb: 'Shorten', done: 'Shortened:' };
}
