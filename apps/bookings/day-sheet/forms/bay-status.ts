// Shows beside each bay of a form whether the bay is free at the typed time. Chooses the first free bay.
import { intervalOf } from '../../src/time/interval.ts';
import { backgroundApi } from '../api.ts';
import { readGaps, readOccupancy, trackLatest } from '../data/read.ts';
import type { Day, SheetBooking } from '../day/day.ts';
import { type BayStatus, describeStatus, statusesAt, withHolds } from '../day/free.ts';
import { dateAt, dayOf } from '../day/time.ts';
import { h } from '../dom.ts';
import type { Form } from './form.ts';
import { type FormTimes, readTimes } from './time-fields.ts';

/** A longer time is not read: it would have too many bookings. */
const maxReadMs = 7 * 86_400_000;

interface StatusOptions {
  /** A booking that is not in the way. */
  readonly own?: SheetBooking;
  /** Chooses the first free bay, until the user chooses one. */
  readonly preselects?: boolean;
}

/** Returns a function that waits until the statuses of the typed time are known. */
export function enableStatuses(
  form: Form,
  day: Day,
  before: FormTimes,
  { own, preselects = false }: StatusOptions,
): () => Promise<void> {
  const boxes = [...form.element.querySelectorAll<HTMLInputElement>('[type=checkbox][name=bayId]')];
  const options = [...form.element.querySelectorAll<HTMLOptionElement>('[name=bayId] option')];
  const names = new Map(options.map((option) => [option, option.text]));
  const notes = boxes.map((box) => {
    const note = h('small', { id: `status-${box.value}` });
    // The status describes the choice. It is not a part of its name.
    box.ariaLabel = box.parentElement?.textContent ?? '';
    box.setAttribute('aria-describedby', note.id);
    box.parentElement?.append(note);
    return note;
  });
  let isChosen = !preselects;
  const beginUpdate = trackLatest();

  async function readStatuses(): Promise<readonly (BayStatus & { readonly text: string })[]> {
    try {
      const interval = intervalOf(readTimes(form.values(), day, before));
      if (interval.end - interval.start > maxReadMs) return [];
      const times = dayOf(dateAt(interval.start, day.timeZone), day.timeZone);
      const [occupancy, gaps] = await Promise.all([
        readOccupancy(day, interval),
        readGaps(backgroundApi, day, interval, own).catch(() => []),
      ]);
      const statuses = statusesAt(occupancy, interval, own ? [own.id] : []);
      return withHolds(statuses, gaps, interval).map((status) => ({ ...status, text: describeStatus(status, times) }));
    } catch {
      // The time is not complete, or there is no connection.
      return [];
    }
  }

  async function update(): Promise<void> {
    const isLatest = beginUpdate();
    const statuses = await readStatuses();
    if (!isLatest()) return;
    const textOf = (bayId: string) => statuses.find(({ bay }) => bay.id === bayId)?.text;
    for (const [index, box] of boxes.entries()) notes[index]?.replaceChildren(textOf(box.value) ?? '');
    for (const [option, name] of names) option.textContent = [name, textOf(option.value)].filter(Boolean).join(' · ');
    const free = statuses.find(({ kind }) => kind === 'free')?.bay.id;
    // The choice of the page is not an edit of the user.
    if (!isChosen && statuses.length > 0) for (const box of boxes) box.defaultChecked = box.value === free;
  }

  let pending = update();
  form.element.addEventListener('input', ({ target }) => {
    const { name } = target as HTMLInputElement;
    if (name === 'bayId') isChosen = true;
    if (/^(start|end)Date/.test(name)) pending = update();
  });
  return () => pending;
}
