// Draws the grid of a day, a column for each bay and a row for each half hour, with bookings and closures in it
// (docs/decisions.md, "Day sheet").
import { doOverlap, type Interval, intervalOf } from '../../src/time/interval.ts';
import { closedTimeOf, closesBay, type Day, matches, type SheetEntry } from '../day/day.ts';
import { clockAt, halfHour } from '../day/time.ts';
import { h, keepFocus, setVariables } from '../dom.ts';
import { drawBooking, drawClosure } from './box.ts';
import { createRejection } from './rejection.ts';

/** A bay and a half hour. */
export interface Cell {
  readonly bay: number;
  readonly row: number;
}

/** Cells from one bay and row to another one, both included. */
export interface Selection extends Cell {
  readonly lastBay: number;
  readonly lastRow: number;
}

export const timeOfRow = ({ start, end }: Day, row: number): number => Math.min(start + row * halfHour, end);

export interface GridActions {
  readonly open: (entry: SheetEntry) => void;
  readonly openEmpty: (selection: Selection) => void;
}

export type Grid = ReturnType<typeof createGrid>;

export function createGrid(day: Day, { open, openEmpty }: GridActions) {
  const rowCount = Math.ceil((day.end - day.start) / halfHour);
  const headings = day.bays.map(({ name, bookable }) =>
    h('div.bay-name', h('span', { title: name }, name), !bookable && h('small', 'not bookable')),
  );
  if (headings.length === 0) headings.push(h('div.bay-name', 'This location has no bays.'));
  const columns = day.bays.map(({ id, bookable }, index) => {
    const column = h('div', { class: bookable ? 'column' : 'column unbookable', 'data-bay': id });
    setVariables(column, { column: index + 2 });
    return column;
  });
  const labels = Array.from({ length: rowCount }, (_, row) => h('span', clockAt(timeOfRow(day, row), day.timeZone)));
  const times = h('div.times', ...labels);
  const corner = h('div.corner', 'Time');
  const marker = h('div.selection', { hidden: true });
  const label = 'Bays and times. Move with the arrow keys, select with Shift, open or book with Enter.';
  const element = h(
    'div.sheet',
    { id: 'sheet', tabindex: 0, role: 'group', 'aria-label': label },
    corner,
    ...headings,
    times,
    ...columns,
    marker,
  );
  setVariables(element, { bays: Math.max(day.bays.length, 1), rows: rowCount });
  const columnOf = new Map(day.bays.map(({ id }, index) => [id, index]));
  /** The boxes of the bookings. */
  const drawn = new Map<string, HTMLElement>();
  let filter = '';

  const rowAt = (instant: number): number => (Math.min(Math.max(instant, day.start), day.end) - day.start) / halfHour;

  /** Moves a part to its times. */
  function place<Part extends HTMLElement>(part: Part, start: number, end: number): Part {
    setVariables(part, { from: rowAt(start), length: rowAt(end) - rowAt(start) });
    return part;
  }

  const rejection = createRejection(element, day, place);

  /** Returns the cell below a point of the window, or the first or last cell of the bay. */
  function cellAt(x: number, y: number): Cell | undefined {
    const boxes = columns.map((column) => column.getBoundingClientRect());
    const bay = boxes.findIndex(({ left, right }) => x >= left && x < right);
    const box = boxes[bay];
    if (!box) return undefined;
    return { bay, row: Math.min(Math.max(Math.floor(((y - box.top) / box.height) * rowCount), 0), rowCount - 1) };
  }

  /** Returns the bookings and closures of a cell. */
  function entriesAt({ bay, row }: Cell): SheetEntry[] {
    const bayId = day.bays[bay]?.id ?? '';
    const cell = { start: timeOfRow(day, row), end: timeOfRow(day, row + 1) };
    const entries = [
      ...day.bookings.values().filter((booking) => booking.bayId === bayId),
      ...day.closures.filter((closure) => closesBay(closure, bayId)),
    ];
    return entries.filter((entry) => doOverlap(intervalOf(entry), cell));
  }

  /** Returns the part of the grid that scrolls, without the headings and the times. */
  function visibleBox() {
    const [box, { right: left, bottom: top }] = [element.getBoundingClientRect(), corner.getBoundingClientRect()];
    return { left, top, right: box.right, bottom: Math.min(box.bottom, innerHeight) };
  }

  function showTimes({ start, end }: Interval, bay: number, lastBay = bay): void {
    marker.hidden = false;
    setVariables(place(marker, start, end), { column: `${bay + 2} / ${lastBay + 3}` });
    marker.textContent = `${clockAt(start, day.timeZone)}–${clockAt(end, day.timeZone)}`;
  }

  const showSelection = ({ bay, lastBay, row, lastRow }: Selection): void =>
    showTimes({ start: timeOfRow(day, row), end: timeOfRow(day, lastRow + 1) }, bay, lastBay);

  /** Moves the line of the current time. */
  function showNow(): void {
    const now = Date.now();
    const isToday = now >= day.start && now < day.end;
    element.classList.toggle('today', isToday);
    setVariables(element, { now: rowAt(now) });
  }

  /** On a phone, only one bay is visible. */
  function showBay(index: number): void {
    for (const part of element.querySelectorAll('.current')) part.classList.remove('current');
    for (const part of [headings[index], columns[index]]) part?.classList.add('current');
  }

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
    if (id === held) postponed.push(() => update(id));
    else keepFocus(element, () => draw(id));
  }

  function draw(id: string): void {
    const booking = day.bookings.get(id);
    drawn.get(id)?.remove();
    drawn.delete(id);
    if (booking) {
      const { start, end } = intervalOf(booking);
      const box = place(drawBooking(booking, day), start, end);
      box.classList.toggle('filtered', !matches(booking, filter));
      drawn.set(id, box);
      columns[columnOf.get(booking.bayId) ?? 0]?.append(box);
      rejection.move(booking);
    }
  }

  const setSaving = (id: string, isSaving: boolean) => drawn.get(id)?.classList.toggle('saving', isSaving);

  /** Draws closures and closed hours again. */
  function updateSchedule(): void {
    if (held === undefined) keepFocus(element, drawSchedule);
    else postponed.push(updateSchedule);
  }

  function drawSchedule(): void {
    columns.forEach((column, index) => {
      for (const part of column.querySelectorAll('.closed, .closure')) part.remove();
      const closedParts = day.closed.map(({ start, end }) =>
        place(h('div.closed', h('span.visually-hidden', 'Closed')), start, end),
      );
      const closures = day.closures.filter((closure) => closesBay(closure, day.bays[index]?.id ?? ''));
      const boxes = closures.map((closure) =>
        place(drawClosure(closure, day), Date.parse(closure.startDate), Date.parse(closure.endDate)),
      );
      column.prepend(...closedParts, ...boxes);
    });
    for (const [id, box] of drawn) {
      const booking = day.bookings.get(id);
      const closed = booking && closedTimeOf(day, booking.bayId, intervalOf(booking));
      if (closed !== box.dataset.closed) draw(id);
    }
  }

  function setFilter(text: string): void {
    if (text === filter) return;
    filter = text;
    for (const [id, box] of drawn) {
      const booking = day.bookings.get(id);
      box.classList.toggle('filtered', !booking || !matches(booking, text));
    }
  }

  element.addEventListener('click', ({ target, clientX, clientY }) => {
    const part = (target as Element).closest<HTMLElement>('.booking, .closure, .column');
    const id = part?.dataset.id ?? '';
    const entry = day.bookings.get(id) ?? day.closures.find((closure) => closure.id === id);
    const cell = cellAt(clientX, clientY);
    if (entry) open(entry);
    else if (part && cell) openEmpty({ ...cell, lastBay: cell.bay, lastRow: Math.min(cell.row + 1, rowCount - 1) });
  });
  showNow();
  showBay(0);
  drawSchedule();
  for (const id of day.bookings.keys()) draw(id);
  return {
    day,
    element,
    marker,
    rowCount,
    /** In pixels. On a phone, only one column has a height. */
    rowHeight: () => times.clientHeight / rowCount,
    cellAt,
    entriesAt,
    visibleBox,
    showTimes,
    showSelection,
    showNow,
    showBay,
    hold,
    update,
    setSaving,
    updateSchedule,
    rejection,
    setFilter,
  };
}
