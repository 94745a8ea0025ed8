// The form for the opening hours of the location: for each weekday, and exceptions for single dates.
import type { OpeningHours, SetOpeningHours } from '@bay-booking/client';
import { type Weekday, weekdays } from '../../src/opening-hours/hours.ts';
import { api } from '../api.ts';
import { ifUnchanged } from '../data/write.ts';
import type { Day } from '../day/day.ts';
import { changesBetween, SentenceError, titleOf } from '../day/sentences.ts';
import { notify } from '../dom.ts';
import type { FormDraft } from '../sign-in.ts';
import { findOutside, listBookings } from './affected-bookings.ts';
import { type Form, formField, openForm } from './form.ts';

type Range = OpeningHours['exceptions'][number]['hours'][number];

const writeRanges = (ranges: readonly Range[] = []): string =>
  ranges.map(({ opens, closes }) => `${opens}-${closes}`).join(', ');

/** Reads `07:00-12:00, 13:00-22:00`. An empty text and `closed` mean that the location is closed. */
function readRanges(text: string, field: string): Range[] {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.toLowerCase() === 'closed') return [];
  return trimmed.split(/\s*,\s*/).map((part) => {
    const match = /^(\d\d?:\d\d)\s*[-–]\s*(\d\d?:\d\d)$/.exec(part);
    if (!match) throw new SentenceError(`“${part}” is not a time range such as 07:00-22:00.`, field);
    return { opens: (match[1] ?? '').padStart(5, '0'), closes: (match[2] ?? '').padStart(5, '0') };
  });
}

/** Reads one exception in each line: `2026-12-24 closed` or `2026-12-31 10:00-16:00`. */
function readExceptions(text: string): OpeningHours['exceptions'] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const match = /^\s*(\d{4}-\d\d-\d\d)\s+(.+)$/.exec(line);
    if (!match) throw new SentenceError(`“${line.trim()}” is not a line such as 2026-12-24 closed.`, 'exceptions');
    return { date: match[1] ?? '', hours: readRanges(match[2] ?? '', 'exceptions') };
  });
}

const writeExceptions = ({ exceptions }: OpeningHours): string[] =>
  exceptions.map(({ date, hours }) => `${date} ${writeRanges(hours) || 'closed'}`);

const shownHours = (hours: OpeningHours): object => ({
  ...Object.fromEntries(
    weekdays.map((weekday) => [
      weekday,
      hours.alwaysOpen ? 'always open' : writeRanges(hours.weekly[weekday]) || 'closed',
    ]),
  ),
  exceptions: writeExceptions(hours).join(', '),
});

function readHours(values: FormData): SetOpeningHours {
  const read = (name: string) => String(values.get(name) ?? '');
  const ranges = weekdays.map((weekday): [Weekday, Range[]] => [weekday, readRanges(read(weekday), weekday)]);
  return {
    weekly: Object.fromEntries(ranges.filter(([, ofDay]) => ofDay.length > 0)),
    exceptions: readExceptions(read('exceptions')),
  };
}

export function openHours(day: Day, original: OpeningHours, draft?: FormDraft): void {
  const { id, name } = day.location;
  /** The hours whose affected bookings the user has seen. */
  let seen = '';
  const form = openForm(
    {
      title: `Opening hours of ${name}`,
      day,
      kind: 'hours',
      context: original,
      content: [
        formField('checkbox', 'alwaysOpen', 'Always open', original.alwaysOpen),
        ...weekdays.map((weekday) =>
          formField('text', weekday, titleOf(weekday), writeRanges(original.weekly[weekday]), {
            ...(weekday === 'monday' && {
              hint: 'Such as 07:00-22:00, or 07:00-12:00, 13:00-22:00. Empty means closed.',
            }),
          }),
        ),
        formField('textarea', 'exceptions', 'Exceptions', writeExceptions(original).join('\n'), {
          hint: 'One date in each line, such as 2026-12-24 closed, or 2026-12-31 10:00-16:00.',
        }),
      ],
      submitLabel: 'Save',
      save: async (values, opened) => {
        const change = values.has('alwaysOpen') ? undefined : readHours(values);
        const target = {
          name: 'the opening hours',
          read: () => api.locations.getOpeningHours(id),
          changesIn: (current: OpeningHours) => changesBetween(shownHours(original), shownHours(current), day),
        };
        const isSaved = await ifUnchanged(target, async ({ etag }) => {
          if (change && seen !== JSON.stringify(change) && (await showOutside(change, opened))) return false;
          if (change) await api.locations.setOpeningHours(id, change, { ifMatch: etag });
          else await api.locations.deleteOpeningHours(id, { ifMatch: etag });
          return true;
        });
        if (!isSaved) return false;
        notify('The opening hours were saved.');
        return true;
      },
      reopen: (current, edited) => openHours(day, current as OpeningHours, edited),
    },
    draft,
  );
  form.element.addEventListener('input', ({ target }) => {
    seen = '';
    form.showBelow();
    form.setSubmitLabel('Save');
    const always = form.element.querySelector<HTMLInputElement>('#field-alwaysOpen');
    if (always && target !== always) always.checked = false;
  });

  /** Shows the bookings outside the new hours. Returns whether there are any. */
  async function showOutside(change: SetOpeningHours, opened: Form): Promise<boolean> {
    const { outside, isComplete } = await findOutside(day, change).catch((error: unknown) => {
      // The service says what is wrong with hours such as 25:00.
      if (error instanceof RangeError) return { outside: [], isComplete: true };
      throw error;
    });
    if (outside.length === 0 && isComplete) return false;
    seen = JSON.stringify(change);
    const title = `Nothing is saved yet. Bookings outside the new hours${isComplete ? '' : ' (there may be more)'}`;
    opened.showBelow(listBookings(title, outside, day));
    opened.setSubmitLabel('Save anyway');
    return true;
  }
}
