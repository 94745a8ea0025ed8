// The forms for new bookings and for a booking: change, move, lengthen, cancel, and the way to its history.
import { BookingsApiError, type CreateBooking } from '@bay-booking/client';
import { api } from '../api.ts';
import { describeError } from '../data/errors.ts';
import { cancelBookings, changeBookings, makeBookings } from '../data/write.ts';
import { bayNameOf, type Day, nameOf, offeredBays, type SheetBooking } from '../day/day.ts';
import { type Description, SentenceError } from '../day/sentences.ts';
import {
  type BookingValues,
  bookingsOf,
  checkSeries,
  describeCount,
  movedLike,
  type SeriesScope,
  seriesScopes,
  weeklyTimes,
} from '../day/series.ts';
import { rangeOf, shortDateAt } from '../day/time.ts';
import { button, h, notify } from '../dom.ts';
import type { FormDraft } from '../sign-in.ts';
import { enableStatuses } from './bay-status.ts';
import { customerFields, readCustomer } from './customer-fields.ts';
import { type FormContext, formField, openForm } from './form.ts';
import { showHistory } from './history.ts';
import { offerInstead, offerOtherBays } from './offers.ts';
import { readTimes, timeFields } from './time-fields.ts';

export interface ProposedBooking {
  readonly bayIds: readonly string[];
  readonly start: number;
  readonly end: number;
  readonly title?: string;
  /** Whether the user has chosen the bays. Otherwise the form chooses the first one that is free. */
  readonly isChosen?: boolean;
}

/** The API accepts 200 bookings in a group. */
const maxBookings = 200;

/** A name that nobody edited stays as a program wrote it, with its spaces. Input fields take line breaks out. */
export function readText(values: FormData, name: string, before = ''): string {
  const text = String(values.get(name) ?? '');
  return text === before.replace(/[\r\n]/g, '').toWellFormed() ? before : text.trim();
}

export function readNumber(values: FormData, name: string, max: number): number {
  const value = Number(values.get(name));
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new SentenceError(`Please enter a whole number from 1 to ${max}.`, name);
}

export function openNewBooking({ day }: FormContext, initial: ProposedBooking, draft?: FormDraft): void {
  /** The series whose dates are known to be free. */
  let checked = '';
  const form = openForm(
    {
      title: initial.title ?? 'New booking',
      day,
      kind: 'new',
      context: initial,
      content: [
        formField('text', 'userAlias', 'Name', '', { required: true }),
        formField('checkboxes', 'bayId', 'Bays', initial.bayIds, { options: offeredBays(day) }),
        ...timeFields(day, initial),
        ...customerFields(),
        formField('text', 'externalBookingId', 'Reference (optional)'),
        formField('number', 'weeks', 'Repeat weekly: number of weeks', '1', {
          min: 1,
          max: maxBookings,
          hint: '1 books this day only. With more weeks, the dates are checked before anything is saved.',
        }),
      ],
      submitLabel: 'Book',
      save: async (values) => {
        // Somebody can be faster than the response that says which bay is free.
        await isSettled();
        const requested = readSeries(form.values(), day, initial);
        const series = JSON.stringify(requested);
        if (Number(values.get('weeks')) > 1 && checked !== series) {
          checked = (await showCheck(requested)) ? series : '';
          return false;
        }
        await book(requested).catch(offerInstead(form, day));
        return true;
      },
    },
    draft,
  );
  const isSettled = enableStatuses(form, day, initial, { preselects: !initial.isChosen && !draft });
  const showEdited = (): void => {
    checked = '';
    form.showBelow();
    form.setSubmitLabel(Number(form.values().get('weeks')) > 1 ? 'Check the dates' : 'Book');
  };
  form.element.addEventListener('input', showEdited);
  showEdited();
  form.element.querySelector<HTMLElement>('#field-userAlias')?.focus();

  async function book(bookings: readonly CreateBooking[]): Promise<void> {
    await makeBookings(bookings);
    const [first] = bookings;
    const isOfDay = first && Date.parse(first.startDate) < day.end && Date.parse(first.endDate) > day.start;
    const when = isOfDay || !first ? undefined : rangeOf(first, day);
    if (bookings.length > 1) notify(`${bookings.length} bookings were made.${when ? ` The first: ${when}.` : ''}`);
    else notify(when ? `Booked: ${when}.` : 'Booked.');
  }

  /** Shows which times are not free and offers the others. Returns whether all are free. */
  async function showCheck(requested: readonly CreateBooking[]): Promise<boolean> {
    const problems = await findProblems(requested, day);
    const { conflicts, free } = checkSeries(requested, problems, day);
    const count = describeCount(requested, day.timeZone);
    form.setSubmitLabel(conflicts.length > 0 ? 'Check again' : `Book all ${requested.length}`);
    if (conflicts.length === 0)
      form.showBelow(h('p', { role: 'status' }, `All are free: ${count}. Nothing is saved yet.`));
    else {
      const summary = `Not free: ${conflicts.length} of ${requested.length} times. Nothing was saved.`;
      const items = conflicts.map((text) => h('li.conflict', text));
      const label = free.length === 1 ? 'Book the other time' : `Book the other ${free.length} times`;
      const bookFree = free.length > 0 && button(label, () => void form.run(() => book(free)));
      const isAboutBays = problems.every(({ field }) => field === 'bayId');
      const take = (bookings: readonly CreateBooking[]) => void form.run(() => book(bookings));
      const offers = isAboutBays ? await offerOtherBays(requested, free, day, take) : [];
      form.showBelow(h('div', { role: 'status' }, h('p', summary), h('ul.dates', ...items), bookFree, ...offers));
    }
    return conflicts.length === 0;
  }
}

function readSeries(values: FormData, day: Day, initial: ProposedBooking): readonly CreateBooking[] {
  const bayIds = values.getAll('bayId').map(String);
  const weeks = readNumber(values, 'weeks', maxBookings);
  const reference = readText(values, 'externalBookingId');
  if (bayIds.length === 0) throw new SentenceError('Please choose a bay.', 'bayId');
  if (bayIds.length * weeks > maxBookings)
    throw new SentenceError(`At most ${maxBookings} bookings can be made at once. Choose fewer bays or weeks.`);
  const times = weeklyTimes(readTimes(values, day, initial), day.timeZone, weeks);
  const skipped = times.find(({ startDate, endDate }) => startDate >= endDate);
  if (skipped)
    throw new SentenceError(`On ${shortDateAt(skipped.startDate, day.timeZone)}, no time remains.`, 'endDate');
  const metadata = readCustomer(values);
  return bookingsOf(times, bayIds, {
    userAlias: readText(values, 'userAlias'),
    ...(metadata && { metadata }),
    ...(reference && { externalBookingId: reference }),
  });
}

/** Asks the service which of the bookings it would reject. Nothing is saved. */
async function findProblems(requested: readonly CreateBooking[], day: Day): Promise<readonly Description[]> {
  try {
    await api.groups.create({ bookings: [...requested], dryRun: true });
    return [];
  } catch (error) {
    if (error instanceof BookingsApiError && error.status === 400) return describeError(error, day, requested);
    throw error;
  }
}

export function openBooking(context: FormContext, original: SheetBooking, draft?: FormDraft): void {
  const { day, mayWrite } = context;
  const { id, groupId, userAlias, bayId, startDate, endDate, externalBookingId } = original;
  const bays = new Map([[bayId, bayNameOf(day, bayId)], ...offeredBays(day)]);
  const name = nameOf(original);
  const choiceOf = (values: FormData) => {
    const [scope] = seriesScopes.find(([value]) => value === values.get('scope')) ?? ['one' as const];
    return { booking: original, scope, day };
  };
  const form = openForm(
    {
      title: `Booking of ${name}`,
      day,
      kind: 'booking',
      context: original,
      content: [
        formField('text', 'userAlias', 'Name', userAlias),
        formField('select', 'bayId', 'Bay', bayId, { options: [...bays] }),
        ...timeFields(day, { start: startDate, end: endDate }),
        ...customerFields(original),
        groupId !== undefined && mayWrite && formField('select', 'scope', 'Apply to', 'one', { options: seriesScopes }),
        externalBookingId !== undefined && h('p', `Reference: ${externalBookingId}`),
      ],
      submitLabel: mayWrite && 'Save',
      buttons: [
        mayWrite && button('Cancel booking', askToCancel, { class: 'danger' }),
        button('History', () => void form.run(async () => showHistory(day, context.subject, original))),
      ],
      save: async (values) => {
        const times = readTimes(values, day, { start: startDate, end: endDate });
        const metadata = readCustomer(values, original);
        const change: BookingValues = {
          userAlias: readText(values, 'userAlias', userAlias),
          bayId: readText(values, 'bayId', bayId),
          startDate: times.startDate,
          endDate: times.endDate,
          ...(metadata && { metadata }),
        };
        const chosen = choiceOf(values);
        const changeOf = chosen.scope === 'one' ? () => change : movedLike(original, change, day);
        const changed = changeBookings(chosen, changeOf);
        await (chosen.scope === 'one' ? changed.catch(offerInstead(form, day, original)) : changed);
        notify('Saved.');
      },
      reopen: (current, edited) => {
        const { bookings } = current as { readonly bookings: readonly SheetBooking[] };
        openBooking(context, bookings.find((booking) => booking.id === id) ?? original, edited);
      },
    },
    draft,
  );

  enableStatuses(form, day, { start: startDate, end: endDate }, { own: original });

  function askToCancel(): void {
    const chosen = choiceOf(form.values());
    const act = async () => {
      await cancelBookings(chosen);
      notify(chosen.scope === 'one' ? `The booking of ${name} was cancelled.` : 'The bookings were cancelled.');
    };
    const question = cancelQuestions[chosen.scope] ?? `Cancel the booking of ${name}?`;
    const yes = button('Yes, cancel', () => void form.run(act), { class: 'danger' });
    const no = button('Keep booking', () => form.showBelow());
    form.showBelow(h('div.question', { role: 'alert' }, h('p', question), yes, no));
    yes.focus();
  }
}

const cancelQuestions: Readonly<Partial<Record<SeriesScope, string>>> = {
  date: 'Cancel all bookings of the group on this date?',
  following: 'Cancel all bookings of the group on this and the following dates?',
  all: 'Cancel all bookings of the group that have not ended, on every date?',
};
