// Draws the list of the day's bookings: for screen readers, for paper and for phones.
import { bayNameOf, type Day, inOrder, type SheetBooking } from '../day/day.ts';
import { timesOf } from '../day/sentences.ts';
import { button, h } from '../dom.ts';
import { matches } from './grid.ts';

export function createList(day: Day, openBooking: (booking: SheetBooking) => void) {
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
    const reference = [booking.externalBookingId, booking.groupId && 'party'].filter(Boolean).join(' · ');
    return h(
      'tr',
      {},
      h('td', {}, timesOf(booking, day)),
      h('td', {}, bayNameOf(day, booking.bayId)),
      h('td', {}, name),
      h('td', {}, reference),
    );
  };

  return {
    element,
    draw: (filter: string): void => {
      const focused = (document.activeElement as HTMLElement | null)?.dataset.id;
      const shown = inOrder(day).filter((booking) => matches(booking, filter));
      body.replaceChildren(...shown.map(rowOf));
      empty.hidden = shown.length > 0;
      table.hidden = shown.length === 0;
      if (focused) body.querySelector<HTMLElement>(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    },
  };
}
