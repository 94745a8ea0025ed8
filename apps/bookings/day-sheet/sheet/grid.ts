// Draws the bookings and closures of a day into the grid (docs/decisions.md, "Day sheet").
import type { Closure } from '@bay-booking/client';
import { doOverlap, intervalOf } from '../../src/time/interval.ts';
import { closedTimeOf, closesBay, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { rangeOf } from '../day/time.ts';
import { button, type Child, h, listOf } from '../dom.ts';
import { type Cell, createFrame, type Selection, setVariables, timeOfRow } from './frame.ts';

export type Entry = SheetBooking | Closure;

export interface GridActions {
  readonly open: (entry: Entry) => void;
  readonly openEmpty: (selection: Selection) => void;
}

export type Grid = ReturnType<typeof createGrid>;

export function createGrid(day: Day, { open, openEmpty }: GridActions) {
  const frame = createFrame(day);
  const { element, columns, place, cellAt } = frame;
  const drawn = new Map<string, HTMLElement>();
  const columnOf = new Map(day.bays.map(({ id }, index) => [id, index]));
  let filter = '';

  /** The arrow keys move over the grid, so that its entries are no tab stops. */
  function drawEntry(entry: Entry, kind: 'booking' | 'closure', label: string, ...content: readonly Child[]) {
    const attributes = { type: 'button', class: kind, 'data-id': entry.id, tabindex: -1, 'aria-label': label };
    const part = h('button', attributes, ...content);
    place(part, Date.parse(entry.startDate), Date.parse(entry.endDate));
    return part;
  }

  function drawBooking(booking: SheetBooking): HTMLElement {
    const [name, range, details] = [nameOf(booking), rangeOf(booking, day), detailsOf(booking)];
    const closed = closedTimeOf(day, booking.bayId, intervalOf(booking));
    const more = [details, closed].filter((text) => text !== undefined && text !== '').join(' ');
    const label = `${[name, range, more].filter(Boolean).join(' ')}, ${day.bays[columnOf.get(booking.bayId) ?? 0]?.name}`;
    const content = [h('strong', {}, name), ' ', h('bdi', {}, range), more !== '' && ` ${more}`];
    const part = drawEntry(booking, 'booking', label, ...content);
    part.classList.toggle('in-closed-time', closed !== undefined);
    part.classList.toggle('filtered', !matches(booking, filter));
    return part;
  }

  const drawClosure = (closure: Closure) =>
    drawEntry(closure, 'closure', labelOf(closure, day), closure.reason ?? 'Closed');

  /** What a pointer holds: the id of a booking, or an empty string for an empty time. */
  let held: string | undefined;
  const postponed: (() => void)[] = [];

  /** While a pointer holds an element, the element stays: a finger would get no more events of a removed one. */
  function hold(id: string | undefined): void {
    held = id;
    for (const draw of postponed.splice(0)) draw();
  }

  /** Draws a booking again, or removes it if the day does not have it any more. */
  function update(id: string): void {
    if (id === held) {
      postponed.push(() => update(id));
      return;
    }
    const before = drawn.get(id);
    const booking = day.bookings.get(id);
    const hadFocus = before !== undefined && before === document.activeElement;
    before?.remove();
    drawn.delete(id);
    if (booking) {
      const part = drawBooking(booking);
      drawn.set(id, part);
      columns[columnOf.get(booking.bayId) ?? 0]?.append(part);
      if (rejection?.dataset.id === id) placeRejection(booking);
    }
    // Otherwise the keyboard would lose its place when another person cancels the booking.
    if (hadFocus) (drawn.get(id) ?? element).focus();
  }

  /** Draws closures and closed hours again. */
  function updateSchedule(): void {
    if (held !== undefined) {
      postponed.push(updateSchedule);
      return;
    }
    columns.forEach((column, index) => {
      for (const part of column.querySelectorAll('.closed, .closure')) part.remove();
      const closedParts = day.closed.map(({ start, end }) => {
        const part = h('div', { class: 'closed' }, h('span', { class: 'hidden' }, 'Closed'));
        place(part, start, end);
        return part;
      });
      const closures = day.closures.filter((closure) => closesBay(closure, day.bays[index]?.id ?? ''));
      column.prepend(...closedParts, ...closures.map(drawClosure));
    });
    for (const [id, part] of drawn) {
      const booking = day.bookings.get(id);
      const isInClosedTime = booking && closedTimeOf(day, booking.bayId, intervalOf(booking)) !== undefined;
      if (isInClosedTime !== part.classList.contains('in-closed-time')) update(id);
    }
  }

  /** Returns the bookings and closures of a cell. */
  function entriesAt({ bay, row }: Cell): Entry[] {
    const bayId = day.bays[bay]?.id ?? '';
    const cell = { start: timeOfRow(day, row), end: timeOfRow(day, row + 1) };
    const entries = [
      ...day.bookings.values().filter((booking) => booking.bayId === bayId),
      ...day.closures.filter((closure) => closesBay(closure, bayId)),
    ];
    return entries.filter((entry) => doOverlap(intervalOf(entry), cell));
  }

  let rejection: HTMLElement | undefined;

  /** Says at a booking why its change was rejected. */
  function showRejection(booking: SheetBooking, text: string): void {
    hideRejection();
    const close = button('Close', hideRejection, { class: 'link' });
    rejection = h('div', { class: 'rejection', role: 'alert', 'data-id': booking.id }, h('p', {}, text), close);
    placeRejection(booking);
    element.append(rejection);
    rejection.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** The box of the sentence grows towards the middle of the grid, where nothing cuts it off. */
  function placeRejection({ bayId, startDate, endDate }: SheetBooking): void {
    if (!rejection) return;
    const [bay, { start, end }] = [columnOf.get(bayId) ?? 0, intervalOf({ startDate, endDate })];
    const isLate = start - day.start > day.end - end;
    const edge = isLate ? start : end;
    setVariables(rejection, { column: bay + 2 });
    place(rejection, edge, edge);
    rejection.classList.toggle('late', isLate);
    rejection.classList.toggle('last', bay >= columns.length / 2);
  }

  function hideRejection(): void {
    rejection?.remove();
    rejection = undefined;
  }

  function setFilter(text: string): void {
    filter = text;
    for (const [id, part] of drawn) {
      const booking = day.bookings.get(id);
      part.classList.toggle('filtered', !booking || !matches(booking, text));
    }
  }

  element.addEventListener('click', ({ target, clientX, clientY }) => {
    const part = (target as Element).closest<HTMLElement>('.booking, .closure, .column');
    const id = part?.dataset.id ?? '';
    const entry = day.bookings.get(id) ?? day.closures.find((closure) => closure.id === id);
    const cell = cellAt(clientX, clientY);
    if (entry) open(entry);
    else if (part && cell)
      openEmpty({ ...cell, lastBay: cell.bay, lastRow: Math.min(cell.row + 1, frame.rowCount - 1) });
  });
  updateSchedule();
  for (const id of day.bookings.keys()) update(id);
  frame.preparePrint();
  return { ...frame, update, updateSchedule, hold, entriesAt, setFilter, showRejection, hideRejection };
}

/** The reference, and whether the booking belongs to a group. */
export const detailsOf = ({ externalBookingId, groupId }: SheetBooking): string =>
  [externalBookingId, groupId && 'group'].filter(Boolean).join(' · ');

const partsOf = (entry: Entry, day: Day): [name: string, range: string] => [
  'userAlias' in entry ? nameOf(entry) : `Closure: ${entry.reason ?? 'no reason'}`,
  rangeOf(entry, day),
];
const labelOf = (entry: Entry, day: Day): string => partsOf(entry, day).join(', ');
export const describeEntry = (entry: Entry, day: Day): Child[] => listOf(...partsOf(entry, day));

const folded = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** Whether the name, the reference or a value of the metadata (phone, note and others) contains the text. */
export function matches({ userAlias, externalBookingId = '', metadata }: SheetBooking, text: string): boolean {
  const searched = folded(text.trim());
  return [userAlias, externalBookingId, ...Object.values(metadata ?? {})].some((value) =>
    folded(value).includes(searched),
  );
}
