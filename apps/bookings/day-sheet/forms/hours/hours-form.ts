// The form for the opening hours of the location: for each weekday, and exceptions for single dates.
import type { OpeningHours, SetOpeningHours } from '@bay-booking/client';
import { weekdays } from '../../../src/opening-hours/hours.ts';
import { api } from '../../api.ts';
import { ifUnchanged } from '../../data/write.ts';
import type { Day } from '../../day/day.ts';
import { exceptionsOf, readHours, writeRanges } from '../../day/hours.ts';
import { changesBetween } from '../../day/sentences.ts';
import { h, notify } from '../../dom.ts';
import type { FormDraft } from '../../sign-in.ts';
import { findOutside, listBookings } from '../affected-bookings.ts';
import { type Form, formField, openForm } from '../form.ts';
import { exceptionFields, weeklyFields } from './hours-fields.ts';

const shownHours = (hours: OpeningHours): object => ({
  ...Object.fromEntries(
    weekdays.map((weekday) => [
      weekday,
      hours.alwaysOpen ? 'always open' : writeRanges(hours.weekly[weekday]) || 'closed',
    ]),
  ),
  exceptions: exceptionsOf(hours)
    .map(({ date, ranges }) => `${date} ${ranges || 'closed'}`)
    .join(', '),
});

export function openHours(day: Day, original: OpeningHours, draft?: FormDraft): void {
  const { id, name } = day.location;
  /** The hours whose affected bookings the user has seen. */
  let seen = '';
  const shownText = (field: string): string | undefined => draft?.values[field]?.[0];
  const form = openForm(
    {
      title: `Opening hours of ${name}`,
      day,
      kind: 'hours',
      context: original,
      content: [
        formField('checkbox', 'alwaysOpen', 'Always open', original.alwaysOpen),
        h('p.hint', `Times of ${day.timeZone}. What closes at or before it opens closes on the next day.`),
        ...weeklyFields(original.weekly, shownText),
        exceptionFields(exceptionsOf(original), shownText),
      ],
      submitLabel: 'Save',
      save: async (values, opened) => {
        const change = values.has('alwaysOpen') ? undefined : readHours((field) => String(values.get(field) ?? ''));
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
    const { outside, isComplete } = await findOutside(day, change);
    if (outside.length === 0 && isComplete) return false;
    seen = JSON.stringify(change);
    const title = `Nothing is saved yet. Bookings outside the new hours${isComplete ? '' : ' (there may be more)'}`;
    opened.showBelow(listBookings(title, outside, day));
    opened.setSubmitLabel('Save anyway');
    return true;
  }
}
