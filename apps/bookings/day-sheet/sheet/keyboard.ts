// Moves a cursor over the grid with the arrow keys and opens the forms of what is below it. The grid is one tab stop.
import { nameOf, type SheetEntry } from '../day/day.ts';
import { announce } from '../dom.ts';
import type { Grid, GridActions, Selection } from './grid.ts';
import { choices } from './toolbar.ts';

export interface KeyboardActions extends GridActions {
  /** Asks which of several entries of a cell to open. */
  readonly choose: (entries: readonly SheetEntry[]) => void;
}

const steps: Readonly<Record<string, readonly [bays: number, rows: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function enableKeyboard(grid: Grid, { open, openEmpty, choose }: KeyboardActions): void {
  const { element, day, marker } = grid;
  const oneCell = (bay: number, row: number): Selection => ({ bay, lastBay: bay, row, lastRow: row });
  let cursor = oneCell(choices.bay, 16);

  /** On a phone, the bay of the cursor is the one that is visible. */
  function setCursor(selection: Selection): void {
    cursor = selection;
    choices.bay = selection.lastBay;
    grid.showBay(choices.bay);
    const select = document.querySelector<HTMLSelectElement>('#bay');
    if (select) select.selectedIndex = choices.bay;
  }

  function move(step: readonly [bays: number, rows: number], withShift: boolean): void {
    const within = (value: number, count: number) => Math.min(Math.max(value, 0), count - 1);
    const lastBay = within(cursor.lastBay + step[0], day.bays.length);
    const lastRow = within(cursor.lastRow + step[1], grid.rowCount);
    setCursor(
      withShift
        ? { ...cursor, lastBay: Math.max(lastBay, cursor.bay), lastRow: Math.max(lastRow, cursor.row) }
        : oneCell(lastBay, lastRow),
    );
    // A click or a closed form leaves the focus on a booking.
    element.focus({ preventScroll: true });
    grid.showSelection(cursor);
    marker.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    announceCursor();
  }

  function announceCursor(): void {
    const { bay, lastBay } = cursor;
    const bays = [...new Set([bay, lastBay])].map((index) => day.bays[index]?.name).join(' to ');
    const entries = grid
      .entriesAt(cursor)
      .map((entry) => ('userAlias' in entry ? `booked by ${nameOf(entry)}` : `closed: ${entry.reason ?? 'no reason'}`));
    announce([bays, marker.textContent.replace('–', ' to '), ...entries].join(', '));
  }

  function enter(): void {
    const isOneCell = cursor.bay === cursor.lastBay && cursor.row === cursor.lastRow;
    const entries = isOneCell ? grid.entriesAt(cursor) : [];
    const [first, second] = entries;
    if (second) choose(entries);
    else if (first) open(first);
    else openEmpty(cursor);
    setCursor(oneCell(cursor.bay, cursor.row));
  }

  element.addEventListener('pointerdown', ({ clientX, clientY }) => {
    const cell = grid.cellAt(clientX, clientY);
    if (cell) setCursor(oneCell(cell.bay, cell.row));
  });
  element.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target instanceof HTMLSelectElement) return;
    if (cursor.lastBay !== choices.bay) cursor = oneCell(choices.bay, cursor.lastRow);
    const step = steps[event.key];
    if (step) move(step, event.shiftKey);
    else if (event.target === element && (event.key === 'Enter' || event.key === ' ')) enter();
    else return;
    event.preventDefault();
  });
}
