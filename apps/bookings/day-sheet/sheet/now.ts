// Draws the list *Now*: for each bay, the present booking with its end or how long the bay is free, and the next
// booking.
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { describeStatus, statusesAt } from '../day/free.ts';
import { clockAt, timeOf } from '../day/time.ts';
import { type Child, h, keepFocus, link, listOf } from '../dom.ts';

export function createNowView(day: Day, open: (booking: SheetBooking) => void) {
  const heading = h('h2');
  const body = h('ul');
  const element = h('section.list.at-now', { tabindex: 0, 'aria-label': 'Now' }, heading, body);
  const linkTo = (booking: SheetBooking) =>
    link(listOf(nameOf(booking)), () => open(booking), { 'data-id': booking.id });

  function itemsAt(now: number): HTMLElement[] {
    return statusesAt(day, { start: now, end: now }).map((status) => {
      const { bay, booking, closure, next, kind, until } = status;
      const free = until === undefined ? 'free for the rest of the day' : `free until ${clockAt(until, day.timeZone)}`;
      const closed = `${describeStatus(status, day)}${closure?.reason ? `: ${closure.reason}` : ''}`;
      const present: Child[] = booking
        ? [linkTo(booking), ` until ${timeOf(booking.endDate, day)}`]
        : [kind === 'free' ? free : closed];
      const later: Child[] = next ? ['next: ', linkTo(next), ` from ${timeOf(next.startDate, day)}`] : [];
      return h('li', h('strong', bayNameOf(day, bay.id)), h('span', ...present), h('span.later', ...later));
    });
  }

  return {
    element,
    draw: (): void => {
      const now = Date.now();
      const isOver = now >= day.end;
      heading.textContent = isOver ? 'This day is over. Choose Today.' : `Now, ${clockAt(now, day.timeZone)}`;
      keepFocus(body, () => body.replaceChildren(...(isOver ? [] : itemsAt(now))));
    },
  };
}
