// The form for the opening hours of the location: for each weekday, and exceptions for single dates.
import type { OpeningHours, SetOpeningHours } from '@bay-booking/client';
import { weekdays } from '../../../src/opening-hours/hours.ts';
import { api } from '../../api.ts';
import { ifUnchanged } from '../../data/write.ts';
import { byDate, describeRanges, readHours } from '../../day/hours.ts';
import { changesBetween } from '../../day/sentences.ts';
import { h, notify } from '../../dom.ts';
import type { FormDraft } from '../../sign-in.ts';
import { createAffectedList, findOutside } from '../affected-bookings.ts';
import { type FormContext, formField, openForm } from '../form.ts';
import { exceptionFields, weeklyFields } from './hours-fields.ts';

const shownHours = (hours: OpeningHours): object => ({
  ...Object.fromEntries(
    weekdays.map((weekday) => [
      weekday,
      hours.alwaysOpen ? 'always open' : describeRanges(hours.weekly[weekday]) || 'closed',
    ]),
  ),
  exceptions: byDate(hours.exceptions)
    .map((exception) => `${exception.date} ${describeRanges(exception.hours) || 'closed'}`)
    .join(', '),
});

export function openHours(context: FormContext, original: OpeningHours, draft?: FormDraft): void {
  const { day } = context;
  const { id, name } = day.location;
  const form = openForm(
    {
      title: `Opening hours of ${name}`,
      day,
      kind: 'hours',
      context: original,
      content: [
        formField('checkbox', 'alwaysOpen', 'Always open', original.alwaysOpen),
        h('p.hint', `Times are in ${day.timeZone}. If it closes at or before it opens, it closes on the next day.`),
        ...weeklyFields(original.weekly, draft),
        exceptionFields(original.exceptions, draft),
      ],
      submitLabel: 'Save',
      save: async (values) => {
        const change = values.has('alwaysOpen') ? undefined : readHours((field) => String(values.get(field) ?? ''));
        const target = {
          name: 'the opening hours',
          read: () => api.locations.getOpeningHours(id),
          changesIn: (current: OpeningHours) => changesBetween(shownHours(original), shownHours(current), day),
        };
        const isSaved = await ifUnchanged(target, async ({ etag }) => {
          const find = () => findOutside(day, change as SetOpeningHours);
          if (change && (await showAffected('Bookings outside the new hours', find))) return false;
          if (change) await api.locations.setOpeningHours(id, change, { ifMatch: etag });
          else await api.locations.deleteOpeningHours(id, { ifMatch: etag });
          return true;
        });
        if (!isSaved) return false;
        notify('The opening hours were saved.');
        return true;
      },
      reopen: (current, edited) => openHours(context, current as OpeningHours, edited),
    },
    draft,
  );
  const showAffected = createAffectedList(form, day);
  form.element.addEventListener('input', ({ target }) => {
    const always = form.element.querySelector<HTMLInputElement>('#field-alwaysOpen');
    if (always && target !== always) always.checked = false;
  });
}
