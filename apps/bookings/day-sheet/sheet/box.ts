// Draws the box of one booking or closure, with what a screen reader says of it.
import type { Closure } from '@bay-booking/client';
import { intervalOf } from '../../src/time/interval.ts';
import { attendanceOf, type Customer } from '../day/customer.ts';
import {
  bayNameOf,
  closedTimeOf,
  type Day,
  detailsOf,
  nameOf,
  type SheetBooking,
  type SheetEntry,
} from '../day/day.ts';
import { halfHour, rangeOf } from '../day/time.ts';
import { type Child, h, listOf, setVariables } from '../dom.ts';

/** The arrow keys move over the grid, so that its entries are not tab stops. */
const createBox = (classes: string, id: string, label: string, ...content: readonly Child[]) =>
  h('button', { type: 'button', class: classes, 'data-id': id, tabindex: -1, 'aria-label': label }, ...content);

/** The word and, from day-sheet.css, a shape. */
export function drawAttendance({ metadata }: Customer): HTMLElement | undefined {
  const word = attendanceOf({ metadata });
  if (!word) return undefined;
  return h('span.attendance', { 'data-value': metadata?.attendance }, h('bdi', word));
}

/** How many lines of text a box has room for, by the heights in day-sheet.css. */
const linesOf = (rows: number): number => Math.max(Math.floor(rows * 1.72 - 0.3), 1);

/** Bookings of a group have the same colour. Green is for single bookings, red and yellow for problems. */
const hues = [255, 300, 345, 210];
const hueOf = (groupId: string): number => hues[Number.parseInt(groupId.slice(-4), 16) % hues.length] ?? 255;

export function drawBooking(booking: SheetBooking, day: Day): HTMLElement {
  const { bayId, groupId, metadata } = booking;
  const [name, range, details] = [nameOf(booking), rangeOf(booking, day), detailsOf(booking)];
  const { start, end } = intervalOf(booking);
  const closed = closedTimeOf(day, bayId, { start, end });
  const rest = [metadata?.phone, metadata?.note, [details, closed].filter(Boolean).join(' ')].filter(Boolean);
  const rows = (Math.min(end, day.end) - Math.max(start, day.start)) / halfHour;
  const lines = linesOf(rows);
  const dash = range.indexOf('–');
  const attendance = drawAttendance(booking);
  const text = h(
    'span.inside',
    h('strong', { dir: 'auto' }, name),
    ' ',
    // In a narrow box of one line, the name takes the place of the end.
    h('bdi', range.slice(0, dash), h('span.until', range.slice(dash))),
    ' ',
    attendance,
    rest.length > 0 && h('span.rest', ' ', ...listOf(...rest)),
  );
  const label = [name, range, attendanceOf(booking), rest.join(', ')].filter(Boolean).join(' ');
  const classes = [
    'booking',
    lines === 1 && 'short',
    rows < 0.85 && 'tiny',
    groupId !== undefined && 'party',
    closed === 'during a closure' && 'in-closure',
  ];
  const box = createBox(classes.filter(Boolean).join(' '), booking.id, `${label}, ${bayNameOf(day, bayId)}`, text);
  const hasMore = rest.length > 0 || attendance !== undefined;
  const nameLines = Math.max(lines - 1 - (hasMore ? Math.ceil((lines - 1) / 2) : 0), 1);
  setVariables(box, { lines, 'name-lines': nameLines, ...(groupId && { hue: hueOf(groupId) }) });
  if (closed) box.dataset.closed = closed;
  return box;
}

export const drawClosure = (closure: Closure, day: Day): HTMLElement =>
  createBox('closure', closure.id, textsOf(closure, day).join(', '), h('bdi', closure.reason ?? 'Closed'));

const textsOf = (entry: SheetEntry, day: Day): [name: string, range: string] => [
  'userAlias' in entry ? nameOf(entry) : `Closure: ${entry.reason ?? 'no reason'}`,
  rangeOf(entry, day),
];

export const describeEntry = (entry: SheetEntry, day: Day): Child[] => listOf(...textsOf(entry, day));
