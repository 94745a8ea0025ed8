// Draws the day: a column for each bay, a row for each half hour (docs/decisions.md, "Day sheet").
import type { Closure } from '@bay-booking/client';
import { closedHours, closesBay, type Day, type SheetBooking } from '../day/day.ts';
import { timesOf } from '../day/sentences.ts';
import { clockAt, halfHour, rowsOf } from '../day/time.ts';
import { announce, h } from '../dom.ts';

/** Cells from one bay and row to another one, both included. */
export interface Selection {
  readonly bay: number;
  readonly lastBay: number;
  readonly row: number;
  readonly lastRow: number;
}

export interface GridActions {
  readonly openBooking: (booking: SheetBooking) => void;
  readonly openClosure: (closure: Closure) => void;
  readonly openEmpty: (selection: Selection) => void;
}

export type Grid = ReturnType<typeof createGrid>;

export function createGrid(day: Day, actions: GridActions) {
  const rows = rowsOf(day);
  const headings = day.bays.map(({ name, bookable }) =>
    h(
      'div',
      { class: bookable ? 'bay-name' : 'bay-name unbookable' },
      h('span', {}, name),
      !bookable && h('small', {}, 'not bookable'),
    ),
  );
  const columns = day.bays.map(({ id, bookable }) =>
    h('div', { class: bookable ? 'column' : 'column unbookable', 'data-bay': id }),
  );
  const times = h('div', { class: 'times' }, ...rows.map(({ label }) => h('span', {}, label)));
  const marker = h('div', { class: 'selection', hidden: true });
  const nowLine = h('div', { class: 'now', hidden: true });
  const element = h(
    'div',
    {
      class: 'sheet',
      tabindex: 0,
      role: 'group',
      'aria-label': 'Bays and times. Move with the arrow keys, select with Shift, open or book with Enter.',
      keydown: onKey,
      click: onClick,
    },
    h('div', { class: 'corner' }, 'Time'),
    ...headings,
    times,
    ...columns,
    marker,
    nowLine,
  );
  element.style.setProperty('--bays', String(day.bays.length));
  element.style.setProperty('--rows', String(rows.length));
  columns.forEach((column, index) => {
    column.style.setProperty('--column', String(index + 2));
  });

  const drawn = new Map<string, HTMLElement>();
  const columnOf = new Map(day.bays.map(({ id }, index) => [id, index]));
  const rowAt = (instant: number): number => (Math.min(Math.max(instant, day.start), day.end) - day.start) / halfHour;
  let cursor: Selection = { bay: 0, lastBay: 0, row: 16, lastRow: 16 };
  let filter = '';

  function place(part: HTMLElement, start: number, end: number): void {
    part.style.setProperty('--from', String(rowAt(start)));
    part.style.setProperty('--length', String(rowAt(end) - rowAt(start)));
  }

  function drawBooking(booking: SheetBooking): HTMLElement {
    const bay = day.bays[columnOf.get(booking.bayId) ?? 0]?.name;
    const details = [booking.externalBookingId, booking.groupId && 'group'].filter(Boolean).join(' · ');
    const part = h(
      'button',
      { type: 'button', class: 'booking', 'data-id': booking.id },
      h('strong', {}, booking.userAlias),
      h('span', {}, ` ${timesOf(booking, day)}`),
      details !== '' && h('span', {}, ` ${details}`),
      h('span', { class: 'hidden' }, `, ${bay}`),
    );
    place(part, Date.parse(booking.startDate), Date.parse(booking.endDate));
    part.classList.toggle('filtered', !matches(booking, filter));
    return part;
  }

  /** Draws a booking again, or removes it if the day does not have it any more. */
  function update(id: string): void {
    const before = drawn.get(id);
    const booking = day.bookings.get(id);
    const hadFocus = before !== undefined && before === document.activeElement;
    before?.remove();
    drawn.delete(id);
    if (booking) {
      const part = drawBooking(booking);
      drawn.set(id, part);
      columns[columnOf.get(booking.bayId) ?? 0]?.append(part);
      if (hadFocus) part.focus();
    }
    // Otherwise the keyboard would lose its place when another person cancels the booking.
    else if (hadFocus) element.focus();
  }

  /** Draws closures and closed hours again. */
  function updateSchedule(): void {
    const closed = closedHours(day);
    columns.forEach((column, index) => {
      const bayId = day.bays[index]?.id ?? '';
      for (const part of column.querySelectorAll('.closed, .closure')) part.remove();
      const closedParts = closed.map(({ start, end }) => {
        const part = h('div', { class: 'closed' }, h('span', { class: 'hidden' }, 'Closed'));
        place(part, start, end);
        return part;
      });
      const closures = day.closures
        .filter((closure) => closesBay(closure, bayId))
        .map((closure) => drawClosure(closure));
      column.prepend(...closedParts, ...closures);
    });
  }

  function drawClosure(closure: Closure): HTMLElement {
    const reason = closure.reason ?? 'Closed';
    const label = `Closure: ${reason}, ${timesOf(closure, day)}`;
    const part = h(
      'button',
      { type: 'button', class: 'closure', 'data-closure': closure.id, 'aria-label': label },
      reason,
    );
    place(part, Date.parse(closure.startDate), Date.parse(closure.endDate));
    return part;
  }

  function showSelection(selection: Selection | undefined): void {
    marker.hidden = selection === undefined;
    if (!selection) return;
    marker.style.setProperty('--column', `${selection.bay + 2} / ${selection.lastBay + 3}`);
    marker.style.setProperty('--from', String(selection.row));
    marker.style.setProperty('--length', String(selection.lastRow - selection.row + 1));
    marker.textContent = `${clockAt(timeOfRow(selection.row), day.timeZone)}–${clockAt(timeOfRow(selection.lastRow + 1), day.timeZone)}`;
  }

  const timeOfRow = (row: number): number => Math.min(day.start + row * halfHour, day.end);

  const bookingsAt = ({ bay, row }: Selection): SheetBooking[] =>
    [...day.bookings.values()].filter(
      ({ bayId, startDate, endDate }) =>
        columnOf.get(bayId) === bay &&
        Date.parse(startDate) < timeOfRow(row + 1) &&
        Date.parse(endDate) > timeOfRow(row),
    );

  const closureAt = ({ bay, row }: Selection): Closure | undefined =>
    day.closures.find(
      (closure) =>
        closesBay(closure, day.bays[bay]?.id ?? '') &&
        Date.parse(closure.startDate) < timeOfRow(row + 1) &&
        Date.parse(closure.endDate) > timeOfRow(row),
    );

  function say({ bay, lastBay, row, lastRow }: Selection): void {
    const times = `${clockAt(timeOfRow(row), day.timeZone)} to ${clockAt(timeOfRow(lastRow + 1), day.timeZone)}`;
    const names = bay === lastBay ? day.bays[bay]?.name : `${day.bays[bay]?.name} to ${day.bays[lastBay]?.name}`;
    const booked = bookingsAt(cursor).map(({ userAlias }) => `booked by ${userAlias}`);
    const closure = closureAt(cursor);
    announce(
      [names, times, ...booked, closure && `closed: ${closure.reason ?? 'no reason'}`].filter(Boolean).join(', '),
    );
  }

  function onKey(event: KeyboardEvent): void {
    if (event.target !== element || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === 'Enter' || event.key === ' ') {
      const isOneCell = cursor.bay === cursor.lastBay && cursor.row === cursor.lastRow;
      const [booking] = isOneCell ? bookingsAt(cursor) : [];
      const closure = isOneCell ? closureAt(cursor) : undefined;
      if (booking) actions.openBooking(booking);
      else if (closure) actions.openClosure(closure);
      else actions.openEmpty(cursor);
    } else if (event.key === 'Escape') showSelection(undefined);
    else if (step) {
      const [dx = 0, dy = 0] = step;
      const within = (value: number, count: number) => Math.min(Math.max(value, 0), count - 1);
      const lastBay = within(cursor.lastBay + dx, day.bays.length);
      const lastRow = within(cursor.lastRow + dy, rows.length);
      cursor = event.shiftKey
        ? { ...cursor, lastBay: Math.max(lastBay, cursor.bay), lastRow: Math.max(lastRow, cursor.row) }
        : { bay: lastBay, lastBay, row: lastRow, lastRow };
      showBay(lastBay);
      showSelection(cursor);
      marker.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      say(cursor);
    } else return;
    event.preventDefault();
  }

  function onClick({ target, clientX, clientY }: MouseEvent): void {
    const part = (target as Element).closest<HTMLElement>('.booking, .closure, .column, .selection');
    const booking = day.bookings.get(part?.dataset.id ?? '');
    const closure = day.closures.find(({ id }) => id === part?.dataset.closure);
    const cell = cellAt(clientX, clientY);
    if (booking) actions.openBooking(booking);
    else if (closure) actions.openClosure(closure);
    else if (part && cell)
      actions.openEmpty({ ...cell, lastBay: cell.bay, lastRow: Math.min(cell.row + 1, rows.length - 1) });
  }

  /** Returns the cell below a point of the window. The row can lie outside the day. */
  function cellAt(x: number, y: number): { readonly bay: number; readonly row: number } | undefined {
    const boxes = columns.map((column) => column.getBoundingClientRect());
    const bay = boxes.findIndex(({ left, right }) => x >= left && x < right);
    const box = boxes[bay];
    if (!box) return undefined;
    return { bay, row: Math.min(Math.max(Math.floor(((y - box.top) / box.height) * rows.length), 0), rows.length - 1) };
  }

  function setFilter(text: string): void {
    filter = text;
    for (const [id, part] of drawn) {
      const booking = day.bookings.get(id);
      part.classList.toggle('filtered', !booking || !matches(booking, text));
    }
  }

  /** Moves the line of the current time. */
  function showNow(): void {
    const now = Date.now();
    nowLine.hidden = now < day.start || now >= day.end;
    nowLine.style.setProperty('--from', String(rowAt(now)));
  }

  /** On a phone, only one bay is visible. */
  function showBay(index: number): void {
    for (const part of [...headings, ...columns]) part.classList.remove('current');
    headings[index]?.classList.add('current');
    columns[index]?.classList.add('current');
  }

  /** Paper has only the hours with openings or bookings. */
  function preparePrint(): void {
    const closed = closedHours(day);
    const starts = [...day.bookings.values()].map(({ startDate }) => Date.parse(startDate));
    const ends = [...day.bookings.values()].map(({ endDate }) => Date.parse(endDate));
    const opens = closed[0]?.start === day.start ? closed[0].end : day.start;
    const last = closed.at(-1);
    const closes = last && last.end === day.end ? last.start : day.end;
    element.style.setProperty('--print-from', String(Math.floor(rowAt(Math.min(opens, ...starts)))));
    element.style.setProperty('--print-to', String(Math.ceil(rowAt(Math.max(closes, ...ends)))));
  }

  for (const id of day.bookings.keys()) update(id);
  updateSchedule();
  showNow();
  showBay(0);
  preparePrint();
  return {
    element,
    day,
    update,
    updateSchedule,
    showSelection,
    cellAt,
    timeOfRow,
    setFilter,
    showNow,
    showBay,
    preparePrint,
  };
}

const folded = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** Whether the name or the reference contains the text. */
export const matches = ({ userAlias, externalBookingId = '' }: SheetBooking, text: string): boolean =>
  folded(`${userAlias} ${externalBookingId}`).includes(folded(text.trim()));
