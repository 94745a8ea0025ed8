// The forms for new bookings and for a booking: change, move, lengthen, cancel, and the way to its history.
import { BookingsApiError, type CreateBooking, weekly } from '@bay-booking/client';
import { client } from '../api.ts';
import {
  type Change,
  ChangedMeanwhile,
  cancelBooking,
  cancelParty,
  createBookings,
  updateBooking,
  updateParty,
} from '../day/bookings.ts';
import { bayNameOf, type Day, type SheetBooking } from '../day/day.ts';
import { describeError, SentenceError, timesOf, type Wanted } from '../day/sentences.ts';
import { instantOf, localAt, shortDateAt } from '../day/time.ts';
import { button, h, notify } from '../dom.ts';
import type { Draft } from '../sign-in.ts';
import { type FieldOptions, type Form, openForm } from './form.ts';
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

const bayOptions = (day: Day) => day.bays.map(({ id, name }) => [id, name] as const);

const timeFields = (day: Day, start: number, end: number): FieldOptions[] => [
  { name: 'startDate', label: 'From', type: 'datetime-local', value: localAt(start, day.timeZone) },
  { name: 'endDate', label: 'To', type: 'datetime-local', value: localAt(end, day.timeZone) },
];

const text = (values: FormData, name: string): string => String(values.get(name) ?? '').trim();

/** If a time was not edited, the instant stays: a wall-clock time alone can mean two instants. */
export function readTime(values: FormData, name: string, day: Day, before: string | number): string {
  const local = text(values, name);
  const instant = new Date(before);
  if (local === localAt(instant.getTime(), day.timeZone)) return instant.toISOString();
  if (!local) throw new SentenceError(`Please enter when it ${name === 'startDate' ? 'begins' : 'ends'}.`);
  return instantOf(local, day.timeZone);
}

export function openNewBooking(context: FormContext, initial: NewBooking, draft?: Draft['values']): void {
  const { day } = context;
  let wanted: readonly CreateBooking[] = [];
  /** The series whose dates are known to be free. */
  let checked = '';
  const form = openForm(
    {
      title: 'New booking',
      draft: { kind: 'new', context: initial },
      fields: [
        { name: 'userAlias', label: 'Name', attributes: { required: true, maxlength: 256 } },
        { name: 'bayId', label: 'Bays', type: 'checkboxes', options: bayOptions(day), value: initial.bayIds },
        ...timeFields(day, initial.start, initial.end),
        { name: 'externalBookingId', label: 'Reference (optional)', attributes: { maxlength: 256 } },
        {
          name: 'weeks',
          label: 'Repeat weekly: number of weeks',
          type: 'number',
          value: '1',
          attributes: { min: 1, max: maxBookings },
          hint: '1 books this day only. With more weeks, the dates are checked before anything is saved.',
        },
      ],
      submitLabel: 'Book',
      describe: (error) => describeError(error, day, wanted),
      save: async (values, opened) => {
        wanted = readSeries(values, day, initial);
        const weeks = Number(values.get('weeks'));
        const series = JSON.stringify(wanted);
        if (weeks > 1 && checked !== series) {
          checked = (await checkSeries(wanted, context, opened)) ? series : '';
          opened.setSubmitLabel(checked ? `Book all ${wanted.length}` : 'Check the dates again');
          return false;
        }
        await createBookings(wanted);
        notify(wanted.length === 1 ? 'Booked.' : `${wanted.length} bookings were made.`);
        return true;
      },
    },
    draft,
  );
  form.element.addEventListener('input', () => {
    checked = '';
    form.showBelow();
    form.setSubmitLabel(
      Number(form.element.querySelector<HTMLInputElement>('#field-weeks')?.value) > 1 ? 'Check the dates' : 'Book',
    );
  });
  form.element.querySelector<HTMLElement>('#field-userAlias')?.focus();
}

function readSeries(values: FormData, day: Day, initial: NewBooking): readonly CreateBooking[] {
  const bayIds = values.getAll('bayId').map(String);
  const weeks = Number(values.get('weeks'));
  const reference = text(values, 'externalBookingId');
  if (bayIds.length === 0) throw new SentenceError('Please choose a bay.');
  if (!Number.isInteger(weeks) || weeks < 1) throw new SentenceError('The number of weeks must be 1 or more.');
  if (bayIds.length * weeks > maxBookings)
    throw new SentenceError(`At most ${maxBookings} bookings can be made at once. Choose fewer bays or weeks.`);
  const [startDate, endDate] = [
    readTime(values, 'startDate', day, initial.start),
    readTime(values, 'endDate', day, initial.end),
  ];
  const isSeries = weeks > 1 && endDate > startDate;
  const times = isSeries
    ? weekly({ timeZone: day.timeZone, start: text(values, 'startDate'), end: text(values, 'endDate'), weeks })
    : [{ startDate, endDate }];
  const bookings = times.flatMap((time) =>
    bayIds.map((bayId) => ({ bayId, userAlias: text(values, 'userAlias'), ...time })),
  );
  return bookings.map((booking, index) =>
    // A reference is unique, so each further booking gets its number.
    reference ? { ...booking, externalBookingId: index === 0 ? reference : `${reference}-${index + 1}` } : booking,
  );
}

/** Shows which dates are free and which are not. Returns whether all are free. */
async function checkSeries(wanted: readonly CreateBooking[], { day }: FormContext, form: Form): Promise<boolean> {
  const rejected = await client.groups.create({ bookings: [...wanted], dryRun: true }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof BookingsApiError && error.status === 400) return error;
      throw error;
    },
  );
  const problems = rejected ? await describeError(rejected, day, wanted) : [];
  const items = wanted.map(({ startDate, bayId }, index) => {
    const ofDate = problems.filter((problem) => problem.index === index).map((problem) => problem.text);
    const when = `${shortDateAt(startDate, day.timeZone)}, ${bayNameOf(day, bayId)}: `;
    return h('li', { class: ofDate.length > 0 ? 'conflict' : '' }, when, ofDate.length > 0 ? ofDate.join(' ') : 'free');
  });
  const count = items.filter((item) => item.className === 'conflict').length;
  const summary =
    count > 0
      ? `${count} of ${wanted.length} dates are not free. Nothing was saved.`
      : `All ${wanted.length} dates are free. Nothing is saved yet.`;
  form.showBelow(h('div', { role: 'status' }, h('p', {}, summary), h('ul', { class: 'dates' }, ...items)));
  return count === 0;
}

export function openBooking(context: FormContext, seen: SheetBooking, draft?: Draft['values']): void {
  const { day, mayWrite } = context;
  let current = seen;
  let wanted: Wanted = seen;
  const options = bayOptions(day);
  const party = [
    ['one', 'this one'],
    ['all', 'all of the party'],
  ] as const;
  const isForAll = (values: FormData): boolean => values.get('party') === 'all';
  const form = openForm(
    {
      title: `Booking of ${seen.userAlias}`,
      draft: { kind: 'booking', context: seen },
      fields: [
        {
          name: 'userAlias',
          label: 'Name',
          value: seen.userAlias,
          attributes: { maxlength: 256, readonly: !mayWrite },
        },
        {
          name: 'bayId',
          label: 'Bay',
          type: 'select',
          options,
          value: seen.bayId,
          attributes: { disabled: !mayWrite },
        },
        ...timeFields(day, Date.parse(seen.startDate), Date.parse(seen.endDate)).map((field) => ({
          ...field,
          attributes: { readonly: !mayWrite },
        })),
        ...(seen.groupId && mayWrite
          ? [{ name: 'party', label: 'Apply to', type: 'select' as const, options: party, value: 'one' }]
          : []),
      ],
      content: [seen.externalBookingId ? h('p', {}, `Reference: ${seen.externalBookingId}`) : undefined],
      submitLabel: mayWrite ? 'Save' : undefined,
      buttons: [
        mayWrite && button('Cancel booking', () => askToCancel(form), { class: 'danger' }),
        button('History', () => void form.run(async () => showHistory(day, context.subject, current))),
      ],
      describe: async (error) => {
        if (error instanceof ChangedMeanwhile && error.current) {
          showNewValues(form.element, current, error.current, day);
          current = error.current;
        }
        return describeError(error, day, [wanted]);
      },
      save: async (values) => {
        const change: Change = {
          userAlias: text(values, 'userAlias'),
          bayId: text(values, 'bayId'),
          startDate: readTime(values, 'startDate', day, current.startDate),
          endDate: readTime(values, 'endDate', day, current.endDate),
        };
        wanted = { id: current.id, ...change };
        if (isForAll(values)) await updateParty(current, movedLike(current, change, day), day);
        else await updateBooking(current, change, day);
        notify('Saved.');
      },
    },
    draft,
  );

  function askToCancel(opened: Form): void {
    const all = isForAll(new FormData(opened.element.querySelector('form') ?? undefined));
    const act = async () => {
      await (all ? cancelParty(current, day) : cancelBooking(current, day));
      notify(all ? 'The party was cancelled.' : `The booking of ${current.userAlias} was cancelled.`);
    };
    const count = day.bookings
      .values()
      .filter(({ groupId }) => groupId === current.groupId)
      .toArray().length;
    const question = all
      ? `Cancel all bookings of the party that have not ended, on every day? This day has ${count}.`
      : `Cancel the booking of ${current.userAlias}?`;
    const yes = button('Yes, cancel', () => void opened.run(act), { class: 'danger' });
    opened.showBelow(
      h(
        'div',
        { class: 'question', role: 'alert' },
        h('p', {}, question),
        yes,
        button('Keep booking', () => opened.showBelow()),
      ),
    );
    yes.focus();
  }
}

/** Puts the new values into the fields that the user has not edited. Saving again then keeps the other's change. */
function showNewValues(dialog: HTMLElement, before: SheetBooking, after: SheetBooking, day: Day): void {
  const valuesOf = ({ userAlias, bayId, startDate, endDate }: SheetBooking) => ({
    userAlias,
    bayId,
    startDate: localAt(Date.parse(startDate), day.timeZone),
    endDate: localAt(Date.parse(endDate), day.timeZone),
  });
  const newValues = Object.entries(valuesOf(after));
  Object.values(valuesOf(before)).forEach((oldValue, index) => {
    const [name, value] = newValues[index] ?? [];
    const control = dialog.querySelector<HTMLInputElement | HTMLSelectElement>(`#field-${name}`);
    if (control && value !== undefined && control.value === oldValue) control.value = value;
  });
}

/** Moves each booking of a party by as many bays and minutes as the changed one, and gives it the same name. */
export function movedLike(seen: SheetBooking, change: Change, day: Day): (booking: SheetBooking) => Change {
  const indexOf = (bayId: string) => day.bays.findIndex(({ id }) => id === bayId);
  const bays = indexOf(change.bayId) - indexOf(seen.bayId);
  const shift = (time: string, from: string, to: string) =>
    new Date(Date.parse(time) + Date.parse(to) - Date.parse(from)).toISOString();
  return ({ bayId, userAlias, startDate, endDate }) => {
    const index = indexOf(bayId);
    const target = bays === 0 ? bayId : index >= 0 && day.bays[index + bays]?.id;
    if (!target)
      throw new SentenceError(`The party cannot move there, because no bay is as far from ${bayNameOf(day, bayId)}.`);
    return {
      bayId: target,
      userAlias: change.userAlias === seen.userAlias ? userAlias : change.userAlias,
      startDate: shift(startDate, seen.startDate, change.startDate),
      endDate: shift(endDate, seen.endDate, change.endDate),
    };
  };
}

/** Moves a booking that was dragged. Asks for the party first. The move can be undone for 10 seconds. */
export function moveBooking(context: FormContext, seen: SheetBooking, change: Change): void {
  const { day } = context;
  const where = (booking: Wanted) => `${bayNameOf(day, booking.bayId)}, ${timesOf(booking, day)}`;
  const fail = async (error: unknown, wanted: Wanted) => {
    const described = await describeError(error, day, [wanted]);
    notify(described.map((problem) => problem.text).join(' '));
  };
  const moveOne = async () => {
    const saved = await updateBooking(seen, change, day);
    const undo = () => updateBooking(saved, seen, day).catch((error) => fail(error, seen));
    notify(`Moved to ${where(saved)}.`, { label: 'Undo', act: undo });
  };
  const moveAll = async () => {
    const undo = await updateParty(seen, movedLike(seen, change, day), day);
    notify(`The party was moved with ${where({ ...seen, ...change })}.`, {
      label: 'Undo',
      act: () => undo().catch((error) => fail(error, seen)),
    });
  };
  const wanted = { id: seen.id, ...change };
  if (!seen.groupId) return void moveOne().catch((error) => fail(error, wanted));
  const form = openForm({
    title: 'Move the party?',
    draft: { kind: 'booking', context: seen },
    fields: [],
    content: [h('p', {}, `${seen.userAlias} to ${where(wanted)}`)],
    buttons: [
      button('This one', () => void form.run(moveOne), { class: 'primary' }),
      button('All of the party', () => void form.run(moveAll)),
    ],
    describe: (error) => describeError(error, day, [wanted]),
  });
}
