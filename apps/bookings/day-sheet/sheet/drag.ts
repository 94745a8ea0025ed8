// Lets a mouse or a finger select empty times, and move and lengthen bookings. On a touch screen a swipe scrolls, and
// only a long press drags. Every drag can also be done in the form of the booking (WCAG 2.2, 2.5.7).

import type { SheetBooking } from '../day/day.ts';
import { halfHour } from '../day/time.ts';
import type { Grid, Selection } from './grid.ts';

export interface DragActions {
  readonly mayDrag: () => boolean;
  readonly select: (selection: Selection) => void;
  readonly move: (booking: SheetBooking, bayId: string, start: number, end: number) => void;
}

interface Drag {
  readonly booking: SheetBooking | undefined;
  readonly resizes: boolean;
  readonly from: { readonly bay: number; readonly row: number };
  readonly x: number;
  readonly y: number;
  /** Set when the drag has begun, after a few pixels or a long press. */
  target?: Selection;
}

const longPressMs = 450;
const tolerancePixels = 6;
/** The lower edge of a booking, which changes its end. */
const edgePixels = 10;

export function enableDrag(grid: Grid, { mayDrag, select, move }: DragActions): void {
  const { element, day } = grid;
  let drag: Drag | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function down(event: PointerEvent): void {
    const part = (event.target as Element).closest<HTMLElement>('.booking, .column, .selection, .closed');
    const from = grid.cellAt(event.clientX, event.clientY);
    if (event.button !== 0 || !event.isPrimary || !part || !from || !mayDrag()) return;
    const booking = day.bookings.get(part.dataset.id ?? '');
    const resizes = booking !== undefined && part.getBoundingClientRect().bottom - event.clientY < edgePixels;
    drag = { booking, resizes, from, x: event.clientX, y: event.clientY };
    if (event.pointerType === 'touch') timer = setTimeout(() => begin(event), longPressMs);
  }

  function begin({ pointerId, clientX, clientY }: PointerEvent): void {
    if (!drag) return;
    element.setPointerCapture(pointerId);
    element.classList.add('dragging');
    update(clientX, clientY);
  }

  function update(x: number, y: number): void {
    const to = grid.cellAt(x, y);
    if (!drag || !to) return;
    const { booking, resizes, from } = drag;
    const [first, last] = booking ? rowsOfBooking(booking) : [from.row, from.row];
    const moved = to.row - from.row;
    if (!booking)
      drag.target = {
        bay: Math.min(from.bay, to.bay),
        lastBay: Math.max(from.bay, to.bay),
        row: Math.min(from.row, to.row),
        lastRow: Math.max(from.row, to.row),
      };
    else if (resizes)
      drag.target = { bay: from.bay, lastBay: from.bay, row: first, lastRow: Math.max(last + moved, first) };
    else drag.target = { bay: to.bay, lastBay: to.bay, row: first + moved, lastRow: last + moved };
    grid.showSelection(drag.target);
  }

  const rowsOfBooking = ({ startDate, endDate }: SheetBooking): readonly [number, number] => {
    const rowOf = (time: string, round: (value: number) => number) => round((Date.parse(time) - day.start) / halfHour);
    return [rowOf(startDate, Math.floor), Math.max(rowOf(endDate, Math.ceil) - 1, rowOf(startDate, Math.floor))];
  };

  function onMove(event: PointerEvent): void {
    if (!drag) return;
    // The button was released outside of the window.
    if (event.pointerType === 'mouse' && event.buttons === 0) {
      cancel();
      return;
    }
    const distance = Math.hypot(event.clientX - drag.x, event.clientY - drag.y);
    if (drag.target) update(event.clientX, event.clientY);
    else if (distance > tolerancePixels) {
      // A finger that moves before the long press scrolls.
      if (event.pointerType === 'touch') cancel();
      else begin(event);
    }
  }

  function up(): void {
    const { target, booking, resizes, from } = drag ?? {};
    cancel();
    if (!target || !from) return;
    // The click that follows a drag must not open a form.
    addEventListener('click', (event) => event.stopPropagation(), { capture: true, once: true });
    setTimeout(() => dispatchEvent(new MouseEvent('click')));
    if (!booking) {
      select(target);
      return;
    }
    const [first, last] = rowsOfBooking(booking);
    const moved = (resizes ? target.lastRow - last : target.row - first) * halfHour;
    const [start, end] = [Date.parse(booking.startDate), Date.parse(booking.endDate)];
    const bayId = day.bays[target.bay]?.id ?? booking.bayId;
    const newEnd = resizes ? Math.max(end + moved, start + halfHour) : end + moved;
    if (moved !== 0 || bayId !== booking.bayId) move(booking, bayId, resizes ? start : start + moved, newEnd);
  }

  function cancel(): void {
    clearTimeout(timer);
    drag = undefined;
    element.classList.remove('dragging');
    grid.showSelection(undefined);
  }

  element.addEventListener('pointerdown', down);
  element.addEventListener('pointermove', onMove);
  element.addEventListener('pointerup', up);
  element.addEventListener('pointercancel', cancel);
  // A long press must not open the menu of the browser or scroll once the drag has begun.
  element.addEventListener('contextmenu', (event) => drag?.target && event.preventDefault());
  element.addEventListener('touchmove', (event) => drag?.target && event.preventDefault(), { passive: false });
  element.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') cancel();
  });
}
