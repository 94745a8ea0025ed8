// The forms for new bookings and for a booking: change, move, lengthen, cancel, and the way to its history.
import { BookingsApiError, type CreateBooking, weekly } from '@bay-booking/client';
import { client } from '../api.ts';
import { type Change, cancelBookings, changeBookings, createBookings } from '../day/bookings.ts';
import { bayNameOf, type Day, type SheetBooking } from '../day/day.ts';
import { describeError, SentenceError, timesOf } from '../day/sentences.ts';
import { instantOf, localAt, shortDateAt } from '../day/time.ts';
import { button, h, notify } from '../dom.ts';
import type { Draft } from '../sign-in.ts';
import { type Form, field, openForm } from './form.ts';
import { showHistory } from './history.ts';

export interface FormContext {
  readonly day: Day;
  /** Whether the user may change bookings now: the right exists and the sheet is not locked. */
  readonly mayWrite: boolean;
  readonly subject: string;
}

export interface NewBooking {
  readonly bayIds: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** The API accepts 60 bookings in a group. */
const maxBookings = 60;

export const baysOf = (day: Day) => day.bays.map(({ id, name }) => [id, name] as const);

export const timeFields = (day: Day, start: number | string, end: number | string): HTMLElement[] => [
  field('datetime-local', 'startDate', 'From', localAt(new Date(start).getTime(), day.timeZone)),
  field('datetime-local', 'endDate', 'To', localAt(new Date(end).getTime(), day.timeZone)),
];

export const readText = (values: FormData, name: string): string => String(values.get(name) ?? '').trim();

/** If a time was not edited, the instant stays: a wall-clock time alone can mean two instants. */
export function readTime(values: FormData, name: string, day: Day, before: string | number): string {
  const local = readText(values, name);
  const instant = new Date(before);
  if (local === localAt(instant.getTime(), day.timeZone)) return instant.toISOString();
  if (!local) throw new SentenceError(`Please enter when it ${name === 'startDate' ? 'begins' : 'ends'}.`, name);
  return instantOf(local, day.timeZone);
}

export function openNewBooking({ day }: FormContext, initial: NewBooking, draft?: Draft): void {
  /** The series whose dates are known to be free. */
  let checked = '';
  const form = openForm(
    {
      title: 'New booking',
      day,
      kind: 'new',
      context: initial,
      content: [
        field('text', 'userAlias', 'Name', '', { required: true, maxlength: 256 }),
        field('checkboxes', 'bayId', 'Bays', initial.bayIds, { options: baysOf(day) }),
        ...timeFields(day, initial.start, initial.end),
        field('text', 'externalBookingId', 'Reference (optional)', '', { maxlength: 256 }),
        field('number', 'weeks', 'Repeat weekly: number of weeks', '1', {
          min: 1,
          max: maxBookings,
          hint: '1 books this day only. With more weeks, the dates are checked before anything is saved.',
        }),
      ],
      submitLabel: 'Book',
      save: async (values, opened) => {
        const requested = readSeries(values, day, initial);
        const series = JSON.stringify(requested);
        if (Number(values.get('weeks')) > 1 && checked !== series) {
          checked = (await checkSeries(requested, day, opened)) ? series : '';
          opened.setSubmitLabel(checked ? `Book all ${requested.length}` : 'Check the dates again');
          return false;
        }
        await createBookings(requested);
        notify(requested.length === 1 ? 'Booked.' : `${requested.length} bookings were made.`);
        return true;
      },
    },
    draft,
  );
  const showEdited = (): void => {
    checked = '';
    form.showBelow();
    form.setSubmitLabel(Number(form.values().get('weeks')) > 1 ? 'Check the dates' : 'Book');
  };
  form.element.addEventListener('input', showEdited);
  showEdited();
  form.element.querySelector<HTMLElement>('#field-userAlias')?.focus();
}

function readSeries(values: FormData, day: Day, initial: NewBooking): readonly CreateBooking[] {
  const bayIds = values.getAll('bayId').map(String);
  const weeks = Number(values.get('weeks'));
  const reference = readText(values, 'externalBookingId');
  if (bayIds.length === 0) throw new SentenceError('Please choose a bay.', 'bayId');
  if (!Number.isInteger(weeks) || weeks < 1) throw new SentenceError('The number of weeks must be 1 or more.', 'weeks');
  if (bayIds.length * weeks > maxBookings)
    throw new SentenceError(`At most ${maxBookings} bookings can be made at once. Choose fewer bays or weeks.`);
  const [startDate, endDate] = [
    readTime(values, 'startDate', day, initial.start),
    readTime(values, 'endDate', day, initial.end),
  ];
  const isSeries = weeks > 1 && endDate > startDate;
  const times = isSeries
    ? weekly({ timeZone: day.timeZone, start: readText(values, 'startDate'), end: readText(values, 'endDate'), weeks })
    : [{ startDate, endDate }];
  const bookings = times.flatMap((time) =>
    bayIds.map((bayId) => ({ bayId, userAlias: readText(values, 'userAlias'), ...time })),
  );
  return bookings.map((booking, index) =>
    // A reference is unique, so each further booking gets its number.
    reference ? { ...booking, externalBookingId: index === 0 ? reference : `${reference}-${index + 1}` } : booking,
  );
}

/** Shows which dates are free and which are not. Returns whether all are free. */
async function checkSeries(requested: readonly CreateBooking[], day: Day, form: Form): Promise<boolean> {
  const problems = await client.groups.create({ bookings: [...requested], dryRun: true }).then(
    () => [],
    (error: unknown) => {
      if (error instanceof BookingsApiError && error.status === 400) return describeError(error, day, requested);
      throw error;
    },
  );
  const items = requested.map(({ startDate, bayId }, place) => {
    const texts = problems.filter(({ index }) => index === place).map(({ text }) => text);
    const when = `${shortDateAt(startDate, day.timeZone)}, ${bayNameOf(day, bayId)}: `;
    return h('li', { class: texts.length > 0 ? 'conflict' : '' }, when, texts.join(' ') || 'free');
  });
  const count = items.filter((item) => item.className === 'conflict').length;
  const summary =
    count > 0
      ? `${count} of ${requested.length} dates are not free. Nothing was saved.`
      : `All ${requested.length} dates are free. Nothing is saved yet.`;
  form.showBelow(h('div', { role: 'status' }, h('p', {}, summary), h('ul', { class: 'dates' }, ...items)));
  return count === 0;
}

export function openBooking(context: FormContext, original: SheetBooking, draft?: Draft): void {
  const { day, mayWrite } = context;
  const { id, groupId, userAlias, bayId, startDate, endDate, externalBookingId } = original;
  const bays = new Map([[bayId, bayNameOf(day, bayId)], ...baysOf(day)]);
  const party = [
    ['one', 'this one'],
    ['all', 'all of the party'],
  ] as const;
  const choiceOf = (values: FormData) => ({ booking: original, all: values.get('party') === 'all', day });
  const form = openForm(
    {
      title: `Booking of ${userAlias}`,
      day,
      kind: 'booking',
      context: original,
      content: [
        field('text', 'userAlias', 'Name', userAlias, { maxlength: 256 }),
        field('select', 'bayId', 'Bay', bayId, { options: [...bays] }),
        ...timeFields(day, startDate, endDate),
        groupId !== undefined && mayWrite && field('select', 'party', 'Apply to', 'one', { options: party }),
        externalBookingId !== undefined && h('p', {}, `Reference: ${externalBookingId}`),
      ],
      submitLabel: mayWrite && 'Save',
      buttons: [
        mayWrite && button('Cancel booking', askToCancel, { class: 'danger' }),
        button('History', () => void form.run(async () => showHistory(day, context.subject, original))),
      ],
      save: async (values) => {
        const change: Change = {
          userAlias: readText(values, 'userAlias'),
          bayId: readText(values, 'bayId'),
          startDate: readTime(values, 'startDate', day, startDate),
          endDate: readTime(values, 'endDate', day, endDate),
        };
        const chosen = choiceOf(values);
        await changeBookings(chosen, chosen.all ? movedLike(original, change, day) : () => change);
        notify('Saved.');
      },
      reopen: (current, edited) => {
        const { bookings } = current as { readonly bookings: readonly SheetBooking[] };
        openBooking(context, bookings.find((booking) => booking.id === id) ?? original, edited);
      },
    },
    draft,
  );

  function askToCancel(): void {
    const chosen = choiceOf(form.values());
    const act = async () => {
      await cancelBookings(chosen);
      notify(chosen.all ? 'All bookings of the group were cancelled.' : `The booking of ${userAlias} was cancelled.`);
    };
    const count = [...day.bookings.values()].filter((booking) => booking.groupId === groupId).length;
    const question = chosen.all
      ? `Cancel all bookings of the group that have not ended, on every day? This day has ${count}.`
      : `Cancel the booking of ${userAlias}?`;
    const yes = button('Yes, cancel', () => void form.run(act), { class: 'danger' });
    const no = button('Keep booking', () => form.showBelow());
    form.showBelow(h('div', { class: 'question', role: 'alert' }, h('p', {}, question), yes, no));
    yes.focus();
  }
}

/** Moves each booking of a group by as many bays and minutes as the changed one, and gives it the same name. */
function movedLike(original: SheetBooking, change: Change, day: Day): (booking: SheetBooking) => Change {
  const indexOf = (bayId: string) => day.bays.findIndex(({ id }) => id === bayId);
  const bays = indexOf(change.bayId) - indexOf(original.bayId);
  const shift = (time: string, from: string, to: string) =>
    new Date(Date.parse(time) + Date.parse(to) - Date.parse(from)).toISOString();
  return ({ bayId, userAlias, startDate, endDate }) => {
    const index = indexOf(bayId);
    const target = bays === 0 ? bayId : index >= 0 && day.bays[index + bays]?.id;
    if (!target)
      throw new SentenceError(`The group cannot move there, because no bay is as far from ${bayNameOf(day, bayId)}.`);
    return {
      bayId: target,
      userAlias: change.userAlias === original.userAlias ? userAlias : change.userAlias,
      startDate: shift(startDate, original.startDate, change.startDate),
      endDate: shift(endDate, original.endDate, change.endDate),
    };
  };
}

/**
 * Moves a booking that was dragged. Asks whether to move its whole group. The move can be undone for 10 seconds.
 * `showRejection` shows a sentence at the booking.
 */
export function moveBooking(
  { day }: FormContext,
  original: SheetBooking,
  change: Change,
  showRejection: (text: string) => void,
): void {
  const requested = { id: original.id, ...change };
  const where = `${bayNameOf(day, change.bayId)}, ${timesOf(change, day)}`;
  const fail = async (error: unknown) => {
    const described = await describeError(error, day, [requested]);
    showRejection(described.map((problem) => problem.text).join(' '));
  };
  const move = async (all: boolean) => {
    const changeOf = all ? movedLike(original, change, day) : () => change;
    const undo = await changeBookings({ booking: original, all, day }, changeOf);
    const text = all ? `Moved to ${where}, with all of the party.` : `Moved to ${where}.`;
    notify(text, { label: 'Undo', act: () => undo().catch(fail) });
  };
  if (!original.groupId) return void move(false).catch(fail);
  const form = openForm({
    title: 'Move which bookings?',
    day,
    kind: 'booking',
    context: original,
    content: [h('p', {}, `${original.userAlias} to ${where}`)],
    buttons: [
      button('This one', () => void form.run(() => move(false)), { class: 'primary' }),
      button('All of the party', () => void form.run(() => move(true))),
    ],
  });
}
