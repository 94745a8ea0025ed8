// Builds the empty grid of a day, a column for each bay and a row for each half hour, and finds places in it.
import { intervalOf, subtract } from '../../src/time/interval.ts';
import type { Day } from '../day/day.ts';
import { clockAt, halfHour } from '../day/time.ts';
import { h } from '../dom.ts';

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

/** Sets variables that day-sheet.css calculates with. */
export function setVariables(element: HTMLElement, variables: Readonly<Record<string, string | number>>): void {
  for (const [name, value] of Object.entries(variables)) element.style.setProperty(`--${name}`, String(value));
}

export function createFrame(day: Day) {
  const rowCount = Math.ceil((day.end - day.start) / halfHour);
  const headings = day.bays.map(({ name, bookable }) =>
    h('div', { class: 'bay-name' }, h('span', {}, name), !bookable && h('small', {}, 'not bookable')),
  );
  const columns = day.bays.map(({ id, bookable }, index) => {
    const column = h('div', { class: bookable ? 'column' : 'column unbookable', 'data-bay': id });
    setVariables(column, { column: index + 2 });
    return column;
  });
  const labels = Array.from({ length: rowCount }, (_, row) =>
    h('span', {}, clockAt(timeOfRow(day, row), day.timeZone)),
  );
  const times = h('div', { class: 'times' }, ...labels);
  const corner = h('div', { class: 'corner' }, 'Time');
  const marker = h('div', { class: 'selection', hidden: true });
  const nowLine = h('div', { class: 'now', hidden: true });
  const label = 'Bays and times. Move with the arrow keys, select with Shift, open or book with Enter.';
  const element = h(
    'div',
    { class: 'sheet', id: 'sheet', tabindex: 0, role: 'group', 'aria-label': label },
    corner,
    ...headings,
    times,
    ...columns,
    marker,
    nowLine,
  );
  setVariables(element, { bays: day.bays.length, rows: rowCount });

  const rowAt = (instant: number): number => (Math.min(Math.max(instant, day.start), day.end) - day.start) / halfHour;

  /** Moves a part to its times. */
  function place(part: HTMLElement, start: number, end: number): void {
    setVariables(part, { from: rowAt(start), length: rowAt(end) - rowAt(start) });
  }

  /** Returns the cell below a point of the window, or the first or last cell of the bay. */
  function cellAt(x: number, y: number): Cell | undefined {
    const boxes = columns.map((column) => column.getBoundingClientRect());
    const bay = boxes.findIndex(({ left, right }) => x >= left && x < right);
    const box = boxes[bay];
    if (!box) return undefined;
    return { bay, row: Math.min(Math.max(Math.floor(((y - box.top) / box.height) * rowCount), 0), rowCount - 1) };
  }

  /** Returns the part of the grid that scrolls, without the headings and the times. */
  function visibleBox() {
    const [box, { right: left, bottom: top }] = [element.getBoundingClientRect(), corner.getBoundingClientRect()];
    return { left, top, right: box.right, bottom: Math.min(box.bottom, innerHeight) };
  }

  function showSelection(selection: Selection | undefined): void {
    marker.hidden = selection === undefined;
    if (!selection) return;
    const { bay, lastBay, row, lastRow } = selection;
    setVariables(marker, { column: `${bay + 2} / ${lastBay + 3}`, from: row, length: lastRow - row + 1 });
    const [from, to] = [timeOfRow(day, row), timeOfRow(day, lastRow + 1)];
    marker.textContent = `${clockAt(from, day.timeZone)}–${clockAt(to, day.timeZone)}`;
  }

  /** Moves the line of the current time. */
  function showNow(): void {
    const now = Date.now();
    nowLine.hidden = now < day.start || now >= day.end;
    place(nowLine, now, now);
  }

  /** On a phone, only one bay is visible. */
  function showBay(index: number): void {
    for (const part of element.querySelectorAll('.current')) part.classList.remove('current');
    for (const part of [headings[index], columns[index]]) part?.classList.add('current');
  }

  /** Paper has only the hours with openings or bookings. */
  function preparePrint(): void {
    const shown = [...subtract([day], day.closed), ...day.bookings.values().map(intervalOf)];
    if (shown.length === 0) shown.push(day);
    const [starts, ends] = [shown.map(({ start }) => start), shown.map(({ end }) => end)];
    setVariables(element, {
      'print-from': Math.floor(rowAt(Math.min(...starts))),
      'print-to': Math.ceil(rowAt(Math.max(...ends))),
    });
  }

  showNow();
  showBay(0);
  return {
    day,
    element,
    marker,
    columns,
    rowCount,
    /** In pixels. On a phone, only one column has a height. */
    rowHeight: () => times.clientHeight / rowCount,
    place,
    cellAt,
    visibleBox,
    showSelection,
    showNow,
    showBay,
    preparePrint,
  };
}
