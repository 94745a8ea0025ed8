// Draws the list of the day's closures and bookings: for screen readers, for paper and for phones.
import type { Closure } from '@bay-booking/client';
import { bayNameOf, type Day, inOrder, type SheetBooking } from '../day/day.ts';
import { timesOf } from '../day/sentences.ts';
import { button, h } from '../dom.ts';
import { matches } from './grid.ts';

export function createList(
  day: Day,
  openBooking: (booking: SheetBooking) => void,
  openClosure: (closure: Closure) => void,
) {
  const body = h('tbody');
  const empty = h('p', { class: 'note' }, 'No bookings.');
  const headings = ['Time', 'Bay', 'Name', 'Reference'].map((heading) => h('th', { scope: 'col' }, heading));
  const table = h(
    'table',
    {},
    h('caption', { class: 'hidden' }, 'Bookings of the day'),
    h('thead', {}, h('tr', {}, ...headings)),
    body,
  );
  const element = h(
    'div',
    { class: 'list', tabindex: 0, role: 'region', 'aria-label': 'List of bookings' },
    table,
    empty,
  );

  const rowOf = (booking: SheetBooking) => {
    const name = button(booking.userAlias, () => openBooking(booking), { class: 'link', 'data-id': booking.id });
    const reference = [booking.externalBookingId, booking.groupId && 'group'].filter(Boolean).join(' · ');
    return h(
      'tr',
      {},
      h('td', {}, timesOf(booking, day)),
      h('td', {}, bayNameOf(day, booking.bayId)),
      h('td', {}, name),
      h('td', {}, reference),
    );
  };

  const rowOfClosure = (closure: Closure) => {
    const bays = closure.bayIds?.map((bayId) => bayNameOf(day, bayId)).join(', ') ?? 'All bays';
    const label = `Closed: ${closure.reason ?? 'no reason'}`;
    const reason = button(label, () => openClosure(closure), { class: 'link', 'data-id': closure.id });
    return h('tr', {}, h('td', {}, timesOf(closure, day)), h('td', {}, bays), h('td', {}, reason), h('td'));
  };

  return {
    element,
    draw: (filter: string): void => {
      const focused = (document.activeElement as HTMLElement | null)?.dataset.id;
      const shown = inOrder(day).filter((booking) => matches(booking, filter));
      const closures = filter ? [] : day.closures;
      body.replaceChildren(...closures.map(rowOfClosure), ...shown.map(rowOf));
      table.hidden = shown.length + closures.length === 0;
      empty.hidden = !table.hidden;
      if (focused) body.querySelector<HTMLElement>(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    },
  };
}
