// The form for the opening hours of the location: for each weekday, and exceptions for single dates.
import { BookingsApiError, type OpeningHours, type SetOpeningHours } from '@bay-booking/client';
import { type Weekday, weekdays } from '../../src/opening-hours/hours.ts';
import { client } from '../api.ts';
import { describeError, SentenceError } from '../day/sentences.ts';
import { notify } from '../dom.ts';
import type { Draft } from '../sign-in.ts';
import type { ClosureContext } from './closure-form.ts';
import { type FormProblem, openForm } from './form.ts';

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

export interface SeenHours {
  readonly hours: OpeningHours;
  readonly etag: string;
}

export async function openHours(context: ClosureContext, restored?: SeenHours, draft?: Draft['values']): Promise<void> {
  const { day } = context;
  const { etag, ...loaded } = restored
    ? { ...restored.hours, etag: restored.etag }
    : await client.locations.getOpeningHours(day.location.id);
  const form = openForm(
    {
      title: `Opening hours of ${day.location.name}`,
      draft: { kind: 'hours', context: { hours: loaded, etag } satisfies SeenHours },
      fields: [
        { name: 'alwaysOpen', label: 'Always open', type: 'checkbox', value: loaded.alwaysOpen },
        ...weekdays.map((weekday, index) => ({
          name: weekday,
          label: `${weekday.charAt(0).toUpperCase()}${weekday.slice(1)}`,
          value: writeRanges(loaded.weekly[weekday]),
          ...(index === 0 && { hint: 'Such as 07:00-22:00, or 07:00-12:00, 13:00-22:00. Empty means closed.' }),
        })),
        {
          name: 'exceptions',
          label: 'Exceptions',
          type: 'textarea' as const,
          value: loaded.exceptions.map(({ date, hours }) => `${date} ${writeRanges(hours) || 'closed'}`).join('\n'),
          hint: 'One date in each line, such as 2026-12-24 closed, or 2026-12-31 10:00-16:00.',
        },
      ],
      submitLabel: 'Save',
      describe: (error) => describeHoursError(error, context),
      save: async (values) => {
        const read = (name: string) => String(values.get(name) ?? '');
        if (values.has('alwaysOpen')) await client.locations.deleteOpeningHours(day.location.id, { ifMatch: etag });
        else {
          const ranges = weekdays.map((weekday): [Weekday, Range[]] => [weekday, readRanges(read(weekday), weekday)]);
          const weekly: SetOpeningHours['weekly'] = Object.fromEntries(ranges.filter(([, ofDay]) => ofDay.length > 0));
          const body = { weekly, exceptions: readExceptions(read('exceptions')) };
          await client.locations.setOpeningHours(day.location.id, body, { ifMatch: etag });
        }
        notify('The opening hours were saved.');
      },
    },
    draft,
  );
  form.element.addEventListener('input', ({ target }) => {
    const always = form.element.querySelector<HTMLInputElement>('#field-alwaysOpen');
    if (always && target !== always) always.checked = false;
  });
}

/** The API names a field such as `weekly.monday[0].closes`, and the form has one field for the day. */
async function describeHoursError(error: unknown, { day }: ClosureContext): Promise<readonly FormProblem[]> {
  if (!(error instanceof BookingsApiError) || error.status !== 400) return describeError(error, day);
  const problems = error.problems.map(({ contextData, description, moreInfo }) => {
    const path = String(contextData.field ?? '');
    const field = weekdays.find((weekday) => path.includes(weekday)) ?? 'exceptions';
    // The hint begins with the name of the field in the body.
    return { field, text: `This is not valid: ${moreInfo.replace(/^[^ ]+: /, '') || description}.` };
  });
  // The start and the end of a range can have the same error.
  return [...new Map(problems.map((problem) => [problem.field + problem.text, problem])).values()];
}
