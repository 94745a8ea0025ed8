// The forms for new bookings and for a booking: change, move, lengthen, cancel, and the way to its history.
import { BookingsApiError, type CreateBooking } from '@bay-booking/client';
import { client } from '../api.ts';
import { type Change, cancelBookings, changeBookings, createBookings } from '../day/bookings.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { describeError, SentenceError } from '../day/sentences.ts';
import { rangeOf, shortDateAt } from '../day/time.ts';
import { button, h, listOf, notify } from '../dom.ts';
import type { Draft } from '../sign-in.ts';
import { type Form, field, openForm } from './form.ts';
import { showHistory } from './history.ts';
import { movedLike } from './move-booking.ts';
import { readTimes, timeFields, timesAfter } from './time-fields.ts';

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

/** The bays that forms offer. */
export const baysOf = (day: Day) =>
  day.bays.filter(({ bookable }) => bookable).map(({ id, name }) => [id, name] as const);

/** A name that nobody edited stays as a program wrote it, with its spaces. Input fields take line breaks out. */
export function readText(values: FormData, name: string, before = ''): string {
  const text = String(values.get(name) ?? '');
  return text === before.replace(/[\r\n]/g, '').toWellFormed() ? before : text.trim();
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
        ...timeFields(day, initial),
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
        const [first] = requested;
        const isOfDay = first && Date.parse(first.startDate) < day.end && Date.parse(first.endDate) > day.start;
        if (requested.length > 1) notify(`${requested.length} bookings were made.`);
        else notify(isOfDay || !first ? 'Booked.' : `Booked: ${rangeOf(first, day)}.`);
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
  const typed = readTimes(values, day, initial);
  const times = Array.from({ length: weeks }, (_, week) => timesAfter(typed, day, week));
  const skipped = times.find(({ startDate, endDate }) => startDate >= endDate);
  if (skipped)
    throw new SentenceError(`On ${shortDateAt(skipped.startDate, day.timeZone)}, no time remains.`, 'endDate');
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
    const when = listOf(shortDateAt(startDate, day.timeZone), bayNameOf(day, bayId));
    return h('li', { class: texts.length > 0 ? 'conflict' : '' }, ...when, `: ${texts.join(' ') || 'free'}`);
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
  const { id, groupId, userAlias, bayId, startDate, endDate, externalBookingId, metadata } = original;
  const bays = new Map([[bayId, bayNameOf(day, bayId)], ...baysOf(day)]);
  const name = nameOf(original);
  const party = [
    ['one', 'this one'],
    ['all', 'all of the party'],
  ] as const;
  const choiceOf = (values: FormData) => ({ booking: original, all: values.get('party') === 'all', day });
  const form = openForm(
    {
      title: `Booking of ${name}`,
      day,
      kind: 'booking',
      context: original,
      content: [
        field('text', 'userAlias', 'Name', userAlias, { maxlength: 256 }),
        field('select', 'bayId', 'Bay', bayId, { options: [...bays] }),
        ...timeFields(day, { start: startDate, end: endDate }),
        groupId !== undefined && mayWrite && field('select', 'party', 'Apply to', 'one', { options: party }),
        externalBookingId !== undefined && h('p', {}, `Reference: ${externalBookingId}`),
        ...Object.entries(metadata ?? {}).map(([key, value]) => h('p', {}, `${key}: ${value}`)),
      ],
      submitLabel: mayWrite && 'Save',
      buttons: [
        mayWrite && button('Cancel booking', askToCancel, { class: 'danger' }),
        button('History', () => void form.run(async () => showHistory(day, context.subject, original))),
      ],
      save: async (values) => {
        const times = readTimes(values, day, { start: startDate, end: endDate });
        const change: Change = {
          userAlias: readText(values, 'userAlias', userAlias),
          bayId: readText(values, 'bayId', bayId),
          startDate: times.startDate,
          endDate: times.endDate,
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
      notify(chosen.all ? 'All bookings of the group were cancelled.' : `The booking of ${name} was cancelled.`);
    };
    const count = [...day.bookings.values()].filter((booking) => booking.groupId === groupId).length;
    const question = chosen.all
      ? `Cancel all bookings of the group that have not ended, on every day? This day has ${count}.`
      : `Cancel the booking of ${name}?`;
    const yes = button('Yes, cancel', () => void form.run(act), { class: 'danger' });
    const no = button('Keep booking', () => form.showBelow());
    form.showBelow(h('div', { class: 'question', role: 'alert' }, h('p', {}, question), yes, no));
    yes.focus();
  }
}
