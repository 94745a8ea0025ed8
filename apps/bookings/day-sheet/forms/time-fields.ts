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
  const { local, occurrence } = wallTimeAt(new Date(before).getTime(), timeZone);
  const time = formField('datetime-local', name, label, local.slice(0, 16));
  const input = time.querySelector('input') as HTMLInputElement;
  const choiceLabel = `Zone of the ${name === 'startDate' ? 'start' : 'end'}`;
  const options = ['0', '1'].map((value) => [value, ''] as const);
  const choice = formField('select', occurrenceName(name), choiceLabel, String(occurrence), { options });
  const skipped = h('p.hint', { role: 'status' });
  const show = (): void => {
    const meanings = isWallTime(input.value) ? meaningsOf(input.value, timeZone) : [];
    const [only] = meanings;
    choice.hidden = meanings.length < 2;
    for (const [index, option] of choice.querySelectorAll('option').entries()) option.text = meanings[index] ?? '';
    const isSkipped = meanings.length === 1 && only !== input.value.slice(11);
    skipped.textContent = isSkipped ? `The clocks skip this time. It means ${only}.` : '';
  };
  input.addEventListener('input', show);
  show();
  time.append(skipped, choice);
  return time;
}

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
