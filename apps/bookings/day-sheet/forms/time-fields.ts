// The fields of a form for a start and an end. In the hour that occurs twice, a choice follows the time.
import type { Interval, Period } from '../../src/time/interval.ts';
import type { Day } from '../day/day.ts';
import { SentenceError } from '../day/sentences.ts';
import { type WallTimes, weeklyTimes } from '../day/series.ts';
import { localAt, meaningsOf, type WallTime, wallTimeAt } from '../day/time.ts';
import { h } from '../dom.ts';
import type { FormDraft } from '../sign-in.ts';
import { formField } from './form.ts';

/** In milliseconds since 1970, or as the API writes them. */
export interface FormTimes {
  readonly start: number | string;
  readonly end: number | string;
}

interface TypedTimes extends WallTimes, Period {}

const occurrenceName = (name: string): string => `${name}Occurrence`;

export const timeFields = (day: Day, { start, end }: FormTimes): HTMLElement[] => [
  timeField('startDate', 'From', start, day),
  timeField('endDate', 'To', end, day),
];

/** The values of the fields for another time. */
export const timeValues = ({ start, end }: Interval, { timeZone }: Day): FormDraft['values'] =>
  Object.fromEntries(
    Object.entries({ startDate: start, endDate: end }).flatMap(([name, instant]) => [
      [name, [localAt(instant, timeZone)]],
      [occurrenceName(name), [String(wallTimeAt(instant, timeZone).occurrence)]],
    ]),
  );

function timeField(name: string, label: string, before: number | string, { timeZone }: Day): HTMLElement {
  const instant = new Date(before).getTime();
  const time = formField('datetime-local', name, label, localAt(instant, timeZone));
  const input = time.querySelector('input') as HTMLInputElement;
  const options = ['0', '1'].map((value) => [value, value] as const);
  const choice = formField(
    'select',
    occurrenceName(name),
    `Zone of the ${name === 'startDate' ? 'start' : 'end'}`,
    '',
    {
      options,
    },
  );
  const select = choice.querySelector('select') as HTMLSelectElement;
  const { occurrence } = wallTimeAt(instant, timeZone);
  for (const option of select.options) option.defaultSelected = option.value === String(occurrence);
  const skipped = h('p.hint', { role: 'status' });
  const show = (): void => {
    const meanings = isWallTime(input.value) ? meaningsOf(input.value, timeZone) : [];
    choice.hidden = meanings.length < 2;
    for (const [index, meaning] of meanings.entries()) if (meanings.length > 1) setText(select.options[index], meaning);
    const [only] = meanings;
    const isSkipped = meanings.length === 1 && only !== input.value.slice(11);
    setText(skipped, isSkipped ? `The clocks skip this time. It means ${only}.` : '');
  };
  input.addEventListener('input', show);
  show();
  time.append(skipped, choice);
  return time;
}

const setText = (element: Element | undefined, text: string): void => {
  if (element && element.textContent !== text) element.textContent = text;
};

/** Browsers let somebody type a year of six digits. */
const isWallTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text);

/** A time that was not edited stays the same instant, with its seconds. */
function readTime(values: FormData, name: string, before: number | string, { timeZone }: Day): WallTime {
  const local = String(values.get(name) ?? '');
  const occurrence = Number(values.get(occurrenceName(name)) ?? 0);
  const unedited = wallTimeAt(new Date(before).getTime(), timeZone);
  if (!local) throw new SentenceError(`Please enter when it ${name === 'startDate' ? 'begins' : 'ends'}.`, name);
  if (!isWallTime(local)) throw new SentenceError('Please enter a year with four digits.', name);
  const isEdited = local !== unedited.local.slice(0, 16) || occurrence !== unedited.occurrence;
  return isEdited ? { local, occurrence } : unedited;
}

/** @throws {SentenceError} if somebody typed an end that is not after the start */
export function readTimes(values: FormData, day: Day, before: FormTimes): TypedTimes {
  const [start, end] = [readTime(values, 'startDate', before.start, day), readTime(values, 'endDate', before.end, day)];
  const [times] = weeklyTimes({ start, end }, day.timeZone) as [Period];
  const isUnedited = [before.start, before.end].every(
    (time, index) => new Date(time).toISOString() === [times.startDate, times.endDate][index],
  );
  if (!isUnedited) requireDuration(times, end.local.slice(0, 16) > start.local.slice(0, 16));
  return { start, end, ...times };
}

function requireDuration({ startDate, endDate }: Period, isSkipped: boolean): void {
  if (startDate < endDate) return;
  throw new SentenceError(
    isSkipped
      ? 'The clocks skip this time, so no time remains between the start and the end.'
      : 'The end must be after the start.',
    'endDate',
  );
}
