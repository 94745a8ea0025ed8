// Shows how full the bays were in a week or a month, beside the one before: numbers, a table with bars, and a download.
import type { BookingLocation } from '@bay-booking/client';
import { sentenceOf } from '../data/errors.ts';
import { createUnreadDay } from '../data/read.ts';
import { downloadCsv, readUsage, type UsageReport, type UsageRequest } from '../data/usage.ts';
import { dateAt } from '../day/time.ts';
import {
  compareUsage,
  describeDates,
  hoursText,
  percentText,
  sumUsage,
  type UsageChoice,
  type UsageSum,
  usageDates,
  usageDivisions,
} from '../day/usage.ts';
import { button, h, labelled, notify, setVariables, showMain } from '../dom.ts';

export interface UsageOptions extends UsageRequest {
  readonly locations: readonly BookingLocation[];
  readonly go: (locationId: string, date: string, choice?: UsageChoice) => void;
}

export async function showUsage(options: UsageOptions, signal: AbortSignal): Promise<void> {
  const { location, choice, date, go } = options;
  const title = `Usage of ${location.name}`;
  const dates = usageDates(choice.usage, date);
  const period = describeDates(choice.usage, dates);
  const today = dateAt(Date.now(), location.timeZone);
  const note = dates.to > today ? `${period}. More bookings can still come.` : period;
  const shown = h('div.report', { tabindex: 0, role: 'region', 'aria-label': 'Usage' }, h('p', 'Counting…'));
  let report: UsageReport | undefined;
  const download = button('Download CSV', () => report && downloadCsv(options, report).catch(fail), { disabled: true });
  const heading = h('div.heading', h('h1', title), h('p', note));
  showMain(heading, createControls(options, today, download), shown);
  try {
    report = await readUsage(options);
    const caption = `${title} by ${usageDivisions[choice.by].toLowerCase()}, ${period}`;
    if (!signal.aborted) shown.replaceChildren(draw(report, choice, caption));
    download.disabled = false;
  } catch (error) {
    const again = button('Try again', () => go(location.id, date, choice));
    const text = await sentenceOf(error, createUnreadDay(location, date));
    if (!signal.aborted) shown.replaceChildren(h('p', { role: 'alert' }, text), h('p', again));
  }

  async function fail(error: unknown): Promise<void> {
    notify(await sentenceOf(error, createUnreadDay(location, date)));
  }
}

type Entries = readonly (readonly [value: string, label: string])[];

function createControls({ location, locations, choice, date, go }: UsageOptions, today: string, download: HTMLElement) {
  const { usage } = choice;
  const show = (change: object, to = date, locationId = location.id) => go(locationId, to, { ...choice, ...change });
  const select = (id: string, label: string, entries: Entries, value: string, change: (value: string) => void) => {
    const options = entries.map(([of, text]) => h('option', { value: of, selected: of === value }, text));
    const control = h('select', { id, change: () => change(control.value) }, ...options);
    return labelled(label, control);
  };
  const own = locations.filter(({ facilityId }) => facilityId === location.facilityId);
  const places: Entries = own.map(({ id, name }) => [id, name]);
  const periods: Entries = [
    ['week', 'Week'],
    ['month', 'Month'],
  ];
  const [before, after] = [-1, 1].map((offset) => usageDates(usage, date, offset).from);
  return h(
    'div.toolbar',
    button('Back to the day', () => go(location.id, date), { class: 'primary', id: 'back' }),
    select('location', 'Location', places, location.id, (id) => show({}, date, id)),
    select('period', 'Period', periods, usage, (value) => show({ usage: value })),
    h(
      'div.control.days',
      button('‹', () => show({}, before), { id: 'before', 'aria-label': `The ${usage} before` }),
      button(`This ${usage}`, () => show({}, today), { id: 'this' }),
      button('›', () => show({}, after), { id: 'after', 'aria-label': `The ${usage} after` }),
    ),
    select('by', 'By', Object.entries(usageDivisions), choice.by, (by) => show({ by })),
    download,
  );
}

type Column = readonly [label: string, text: (sum: UsageSum) => string];
const occupancyColumn: Column = ['Occupancy', ({ occupancy }) => percentText(occupancy)];
const bookedColumn: Column = ['Booked', ({ bookedMinutes }) => hoursText(bookedMinutes)];
const openColumn: Column = ['Open', ({ openMinutes }) => hoursText(openMinutes ?? 0)];
const countColumns: readonly Column[] = [
  ['Bookings', ({ bookings }) => String(bookings)],
  ['Cancelled', ({ cancelled }) => String(cancelled)],
  ['No-shows', ({ noShows }) => String(noShows)],
];

function draw({ items, before, labelOf }: UsageReport, { usage, by }: UsageChoice, caption: string): HTMLElement {
  const isByClient = by === 'client';
  const measure = isByClient ? bookedColumn : occupancyColumn;
  const columns = isByClient ? countColumns : [bookedColumn, openColumn, ...countColumns];
  const rows = compareUsage(by, items, before);
  const most = Math.max(1, ...rows.flatMap((row) => [row.now.bookedMinutes, row.before?.bookedMinutes ?? 0]));

  const barOf = (sum: UsageSum | undefined, className: string) => {
    const bar = h('span', { class: `bar ${className}` });
    setVariables(bar, { share: (isByClient ? (sum?.bookedMinutes ?? 0) / most : sum?.occupancy) ?? 0 });
    return bar;
  };
  const rowOf = (label: string, now: UsageSum, ofBefore: UsageSum | undefined, ...bars: HTMLElement[]) =>
    h(
      'tr',
      h('th', { scope: 'row' }, h('bdi', label)),
      h('td', measure[1](now), ...bars),
      h('td', ofBefore ? measure[1](ofBefore) : '–'),
      ...columns.map(([, text]) => h('td', text(now))),
    );
  const beforeLabel = usage === 'week' ? 'Week before' : 'Month before';
  const headings = [usageDivisions[by], measure[0], beforeLabel, ...columns.map(([label]) => label)];
  const head = headings.map((text) => h('th', { scope: 'col' }, text));
  const body = rows.map(({ key, now, before: ofBefore }) =>
    rowOf(labelOf(key), now, ofBefore, barOf(now, ''), barOf(ofBefore, 'before')),
  );
  return h(
    'table.usage',
    h('caption.visually-hidden', caption),
    h('thead', h('tr', ...head)),
    h('tbody', ...body),
    h('tfoot', rowOf('Total', sumUsage(items), sumUsage(before))),
  );
}
