// Opens the forms of the sheet, as far as the user may change something now.
import type { Me } from '@bay-booking/client';
import { contains, type Interval, timesOf } from '../../src/time/interval.ts';
import { sentenceOf } from '../data/errors.ts';
import type { Day, SheetEntry } from '../day/day.ts';
import { firstFreeBay } from '../day/free.ts';
import { fiveMinutes, halfHour, proposedStart } from '../day/time.ts';
import { button, h, link, notify } from '../dom.ts';
import { openBay, openBays } from '../forms/bays-form.ts';
import { openBooking, openNewBooking } from '../forms/booking-form.ts';
import { openClosure } from '../forms/closure-form.ts';
import { openFindTime } from '../forms/find-time.ts';
import { type FormContext, openForm } from '../forms/form.ts';
import { openHours } from '../forms/hours/hours-form.ts';
import type { FormDraft } from '../sign-in.ts';
import { describeEntry } from './box.ts';
import { type Selection, timeOfRow } from './grid.ts';
import { choices } from './toolbar.ts';

/** `reload` loads the day again. */
export function createActions(day: Day, { scopes, subject }: Me, reload: () => void) {
  const may = (scope: string): boolean => scopes.some((granted) => granted.endsWith(scope));
  const [mayWrite, mayClose] = [may('/golf/bookings'), may('/golf/schedule')];
  const contextNow = (): FormContext => ({
    day,
    mayWrite: mayWrite && !choices.locked,
    mayClose: mayClose && !choices.locked,
    subject,
    reload,
  });

  const open = (entry: SheetEntry): void =>
    'userAlias' in entry ? openBooking(contextNow(), entry) : openClosure(contextNow(), entry);

  function choose(entries: readonly SheetEntry[]): void {
    const links = entries.map((entry) => link(describeEntry(entry, day), () => open(entry)));
    const items = links.map((one) => h('li', one));
    openForm({ title: 'Which one?', day, kind: 'choice', content: [h('ul', ...items)] });
  }

  function openEmpty({ bay, lastBay, row, lastRow }: Selection): void {
    const selected = day.bays.slice(bay, lastBay + 1);
    const bayIds = selected.filter(({ bookable }) => bookable).map(({ id }) => id);
    const times = { start: timeOfRow(day, row), end: timeOfRow(day, lastRow + 1) };
    if (!contextNow().mayWrite)
      notify(
        choices.locked
          ? 'The sheet is locked. Untick “Lock the sheet” to change it.'
          : 'Your account may not book here.',
      );
    else if (bayIds.length === 0)
      notify(selected[0] ? `${selected[0].name} is not bookable.` : 'This location has no bays.');
    else openNewBooking(contextNow(), { bayIds, ...times, isChosen: true });
  }

  function openAt(times: Interval, title?: string): void {
    // On another day, the form finds the bay.
    const bay = contains(day, times) ? firstFreeBay(day, times) : undefined;
    openNewBooking(contextNow(), { bayIds: bay ? [bay.id] : [], ...times, ...(title && { title }) });
  }

  function newBooking(): void {
    const start = proposedStart(day, Date.now());
    openAt({ start, end: start + 2 * halfHour });
  }

  /** For somebody who stands at the desk: from the last full five minutes, for an hour. */
  function walkIn(): void {
    const start = Math.floor(Date.now() / fiveMinutes) * fiveMinutes;
    openAt({ start, end: start + 2 * halfHour }, 'Walk-in');
  }

  function closeBays(): void {
    const start = proposedStart(day, Date.now());
    openClosure(contextNow(), { bayIds: [], ...timesOf({ start, end: start + 4 * halfHour }) });
  }

  const report = async (error: unknown): Promise<void> => notify(await sentenceOf(error, day));

  /** The buttons that change something. */
  const editing = [
    mayWrite && button('New booking', newBooking, { class: 'primary' }),
    mayWrite && button('Find a time', () => openFindTime(contextNow())),
    mayClose && button('Close bays', closeBays),
    mayClose && button('Opening hours', () => openHours(contextNow(), day.hours)),
    mayClose && button('Bays', () => openBays(contextNow())),
  ].filter((control) => control !== false);

  /** Opens the form that was open before a sign-in, with what was typed. */
  const restore = (draft: FormDraft): void =>
    restorable[draft.kind as keyof typeof restorable]?.(contextNow(), draft.context as never, draft);

  const walkInButton = mayWrite && button('Walk-in', walkIn, { id: 'walk-in', class: 'primary' });
  return { contextNow, open, choose, openEmpty, walkIn: walkInButton, editing, report, restore };
}

/** The form to open, by the kind of the draft. */
const restorable = {
  new: openNewBooking,
  find: (context: FormContext, _original: unknown, draft: FormDraft) => openFindTime(context, draft),
  booking: openBooking,
  closure: openClosure,
  bay: openBay,
  hours: openHours,
} as const;
