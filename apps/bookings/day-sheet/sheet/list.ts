// Draws the list of the day's closures and bookings: for screen readers, for paper and for phones.
import { bayNameOf, type Day, inOrder } from '../day/day.ts';
import { timesOf } from '../day/sentences.ts';
import { button, h } from '../dom.ts';
import { detailsOf, type Entry, matches } from './grid.ts';

export function createList(day: Day, open: (entry: Entry) => void) {
  const headings = ['Time', 'Bay', 'Name', 'Reference'].map((heading) => h('th', { scope: 'col' }, heading));
  const body = h('tbody');
  const caption = h('caption', { class: 'hidden' }, 'Bookings of the day');
  const table = h('table', {}, caption, h('thead', {}, h('tr', {}, ...headings)), body);
  const empty = h('p', {}, 'No bookings.');
  const label = 'List of bookings';
  const element = h('div', { class: 'list', tabindex: 0, role: 'region', 'aria-label': label }, table, empty);

  const rowOf = (entry: Entry, bays: string, name: string, details: string) => {
    const link = button(name, () => open(entry), { class: 'link', 'data-id': entry.id });
    return h('tr', {}, ...[timesOf(entry, day), bays, link, details].map((content) => h('td', {}, content)));
  };

  return {
    element,
    draw: (filter: string): void => {
      const focused = (document.activeElement as HTMLElement | null)?.dataset.id;
      const closures = (filter ? [] : day.closures).map((closure) => {
        const bays = closure.bayIds?.map((bayId) => bayNameOf(day, bayId)).join(', ') ?? 'All bays';
        return rowOf(closure, bays, `Closed: ${closure.reason ?? 'no reason'}`, '');
      });
      const bookings = inOrder(day)
        .filter((booking) => matches(booking, filter))
        .map((booking) => rowOf(booking, bayNameOf(day, booking.bayId), booking.userAlias, detailsOf(booking)));
      body.replaceChildren(...closures, ...bookings);
      table.hidden = body.childElementCount === 0;
      empty.hidden = !table.hidden;
      if (focused) body.querySelector<HTMLElement>(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    },
  };
}
