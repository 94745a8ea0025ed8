// Draws the list of the day's closures and bookings: for screen readers, for paper and for phones.
import type { Closure } from '@bay-booking/client';
import { intervalOf } from '../../src/time/interval.ts';
import {
  bayNameOf,
  closedTimeOf,
  type Day,
  detailsOf,
  inOrder,
  matches,
  nameOf,
  type SheetBooking,
  type SheetEntry,
} from '../day/day.ts';
import { rangeOf } from '../day/time.ts';
import { type Child, h, keepFocus, link, listOf } from '../dom.ts';
import { drawAttendance } from './box.ts';

export function createListView(day: Day, open: (entry: SheetEntry) => void) {
  const headings = ['Time', 'Bay', 'Name', 'Phone', 'Note', 'Reference'].map((heading) =>
    h('th', { scope: 'col' }, heading),
  );
  const body = h('tbody');
  const caption = h('caption.visually-hidden', 'Bookings of the day');
  const table = h('table', caption, h('thead', h('tr', ...headings)), body);
  const empty = h('p', 'No bookings.');
  const label = 'List of bookings';
  const element = h('div.list', { tabindex: 0, role: 'region', 'aria-label': label }, table, empty);

  const rowOf = (entry: SheetEntry, bays: string, name: string, attendance?: HTMLElement, ...more: string[]) => {
    const range = h('bdi', rangeOf(entry, day));
    const nameLink = link(listOf(name), () => open(entry), { 'data-id': entry.id });
    const cells: Child[][] = [
      [range],
      [bays],
      [nameLink, attendance && ' ', attendance],
      ...more.map((text) => listOf(text)),
    ];
    return h('tr', ...cells.map((content) => h('td', ...content)));
  };

  function closureRow(closure: Closure): HTMLElement {
    const bays = closure.bayIds?.map((bayId) => bayNameOf(day, bayId)).join(', ') ?? 'All bays';
    return rowOf(closure, bays, `Closed: ${closure.reason ?? 'no reason'}`, undefined, '', '', '');
  }

  function bookingRow(booking: SheetBooking, filter: string): HTMLElement {
    const closed = closedTimeOf(day, booking.bayId, intervalOf(booking));
    const details = [detailsOf(booking), closed].filter(Boolean).join(' · ');
    const { phone = '', note = '' } = booking.metadata ?? {};
    const attendance = drawAttendance(booking);
    const row = rowOf(booking, bayNameOf(day, booking.bayId), nameOf(booking), attendance, phone, note, details);
    if (filter.trim()) row.classList.add(matches(booking, filter) ? 'found' : 'filtered');
    return row;
  }

  return {
    element,
    draw: (filter: string): void => {
      const entries = [...day.closures, ...inOrder(day)].sort((a, b) => a.startDate.localeCompare(b.startDate));
      const rows = entries.map((entry) => ('userAlias' in entry ? bookingRow(entry, filter) : closureRow(entry)));
      keepFocus(body, () => body.replaceChildren(...rows));
      table.hidden = body.childElementCount === 0;
      empty.hidden = !table.hidden;
    },
  };
}
