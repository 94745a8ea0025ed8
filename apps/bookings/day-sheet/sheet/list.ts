// Draws the list of the day's closures and bookings: for screen readers, for paper and for phones.
import { intervalOf } from '../../src/time/interval.ts';
import { bayNameOf, closedTimeOf, type Day, detailsOf, inOrder, matches, nameOf, type SheetEntry } from '../day/day.ts';
import { rangeOf } from '../day/time.ts';
import { button, h, listOf } from '../dom.ts';

export function createListView(day: Day, open: (entry: SheetEntry) => void) {
  const headings = ['Time', 'Bay', 'Name', 'Reference'].map((heading) => h('th', { scope: 'col' }, heading));
  const body = h('tbody');
  const caption = h('caption', { class: 'hidden' }, 'Bookings of the day');
  const table = h('table', {}, caption, h('thead', {}, h('tr', {}, ...headings)), body);
  const empty = h('p', {}, 'No bookings.');
  const label = 'List of bookings';
  const element = h('div', { class: 'list', tabindex: 0, role: 'region', 'aria-label': label }, table, empty);

  const rowOf = (entry: SheetEntry, bays: string, name: string, details: string) => {
    const range = h('bdi', {}, rangeOf(entry, day));
    const link = button(listOf(name), () => open(entry), { class: 'link', 'data-id': entry.id });
    return h('tr', {}, ...[range, bays, link, details].map((content) => h('td', {}, content)));
  };

  return {
    element,
    draw: (filter: string): void => {
      const focused = (document.activeElement as HTMLElement | null)?.dataset.id;
      const closures = day.closures.map((closure) => {
        const bays = closure.bayIds?.map((bayId) => bayNameOf(day, bayId)).join(', ') ?? 'All bays';
        return rowOf(closure, bays, `Closed: ${closure.reason ?? 'no reason'}`, '');
      });
      const bookings = inOrder(day).map((booking) => {
        const closed = closedTimeOf(day, booking.bayId, intervalOf(booking));
        const details = [detailsOf(booking), closed].filter(Boolean).join(' · ');
        const row = rowOf(booking, bayNameOf(day, booking.bayId), nameOf(booking), details);
        if (filter.trim()) row.classList.add(matches(booking, filter) ? 'found' : 'filtered');
        return row;
      });
      body.replaceChildren(...closures, ...bookings);
      table.hidden = body.childElementCount === 0;
      empty.hidden = !table.hidden;
      if (focused) body.querySelector<HTMLElement>(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    },
  };
}
