// Draws the box of one booking or closure, with what a screen reader says of it.
import type { Closure } from '@bay-booking/client';
import { intervalOf } from '../../src/time/interval.ts';
import {
  bayNameOf,
  closedTimeOf,
  type Day,
  detailsOf,
  nameOf,
  type SheetBooking,
  type SheetEntry,
} from '../day/day.ts';
import { rangeOf } from '../day/time.ts';
import { type Child, h, listOf } from '../dom.ts';

/** The arrow keys move over the grid, so that its entries are no tab stops. */
const createBox = (kind: 'booking' | 'closure', id: string, label: string, ...content: readonly Child[]) =>
  h('button', { type: 'button', class: kind, 'data-id': id, tabindex: -1, 'aria-label': label }, ...content);

export function drawBooking(booking: SheetBooking, day: Day): HTMLElement {
  const [name, range, details] = [nameOf(booking), rangeOf(booking, day), detailsOf(booking)];
  const closed = closedTimeOf(day, booking.bayId, intervalOf(booking));
  const more = [details, closed].filter((text) => text !== undefined && text !== '').join(' ');
  const label = `${[name, range, more].filter(Boolean).join(' ')}, ${bayNameOf(day, booking.bayId)}`;
  const content = [h('strong', {}, name), ' ', h('bdi', {}, range), more !== '' && ` ${more}`];
  const box = createBox('booking', booking.id, label, ...content);
  box.classList.toggle('in-closed-time', closed !== undefined);
  return box;
}

export const drawClosure = (closure: Closure, day: Day): HTMLElement =>
  createBox('closure', closure.id, textsOf(closure, day).join(', '), closure.reason ?? 'Closed');

const textsOf = (entry: SheetEntry, day: Day): [name: string, range: string] => [
  'userAlias' in entry ? nameOf(entry) : `Closure: ${entry.reason ?? 'no reason'}`,
  rangeOf(entry, day),
];

export const describeEntry = (entry: SheetEntry, day: Day): Child[] => listOf(...textsOf(entry, day));
