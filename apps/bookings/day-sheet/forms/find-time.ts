// The form that finds times when several bays are free, also on later days. A tap on a time opens the booking form.
import { api } from '../api.ts';
import { readGaps } from '../data/read.ts';
import { findTimes, type TimeChoice, type TimeWish } from '../day/free.ts';
import { SentenceError } from '../day/sentences.ts';
import { addDays, dateAt, dayOf, halfHour } from '../day/time.ts';
import { h, link } from '../dom.ts';
import type { FormDraft } from '../sign-in.ts';
import { openNewBooking, readNumber } from './booking-form.ts';
import { type FormContext, formField, openForm } from './form.ts';
import { describeChoice } from './offers.ts';

/** The API answers for 32 days at once. A time on the last day can end on the next one. */
const maxDays = 30;

export function openFindTime(context: FormContext, draft?: FormDraft): void {
  const { day } = context;
  const today = dateAt(Date.now(), day.timeZone);
  // After 21:00, no hour is left before 22:00.
  const earliest = dateAt(Date.now() + 6 * halfHour, day.timeZone);
  const date = day.date > earliest ? day.date : earliest;
  const form = openForm(
    {
      title: 'Find a time',
      day,
      kind: 'find',
      isSearch: true,
      content: [
        formField('number', 'bays', 'How many bays', '1', { min: 1, max: day.bays.length }),
        formField('checkbox', 'together', 'Next to each other', true),
        formField('number', 'minutes', 'How long, in minutes', '60', { min: 5, max: 1_440, step: 5 }),
        formField('date', 'firstDate', 'First day', date, { min: today }),
        formField('date', 'lastDate', 'Last day', date, { min: today }),
        formField('time', 'from', 'Not before', '08:00'),
        formField('time', 'to', 'Not after', '22:00'),
      ],
      submitLabel: 'Find times',
      save: async (values) => {
        form.showBelow();
        const wish = readWish(values);
        const [first = date, last = first] = [wish.dates[0], wish.dates.at(-1)];
        const interval = {
          start: dayOf(first, day.timeZone).start,
          end: dayOf(wish.to > wish.from ? last : addDays(last, 1), day.timeZone).end,
        };
        const gaps = await readGaps(api, day, interval);
        const found = findTimes(gaps, wish, { timeZone: day.timeZone, now: Date.now() });
        const open = (choice: TimeChoice) => openNewBooking(context, { ...choice, isChosen: true });
        const links = found.map((choice) => link(describeChoice(choice, day), () => open(choice)));
        const items = links.map((one) => h('li', one));
        const summary = found.length === 0 ? 'No time is free. Try other days or hours, or fewer bays.' : 'Free times:';
        form.showBelow(h('div', { role: 'status' }, h('p', summary), h('ul.dates', ...items)));
        return false;
      },
    },
    draft,
  );
}

function readWish(values: FormData): TimeWish {
  const text = (name: string): string => String(values.get(name) ?? '');
  const read = (name: string, unit: 'date' | 'time'): string => {
    if (text(name)) return text(name);
    throw new SentenceError(`Please enter a ${unit}.`, name);
  };
  const [first, last] = [read('firstDate', 'date'), read('lastDate', 'date')];
  if (last < first) throw new SentenceError('The last day must not be before the first day.', 'lastDate');
  const dates = [first];
  for (let date = first; date < last && dates.length <= maxDays; dates.push(date)) date = addDays(date, 1);
  if (dates.length > maxDays) throw new SentenceError(`Please choose at most ${maxDays} days.`, 'lastDate');
  return {
    bays: readNumber(values, 'bays', 1_000),
    together: values.has('together'),
    minutes: readNumber(values, 'minutes', 1_440),
    dates,
    from: read('from', 'time'),
    to: read('to', 'time'),
  };
}
