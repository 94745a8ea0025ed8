// Lets a mouse or a finger select empty times, and move and lengthen bookings. On a touch screen a swipe scrolls, and
// only a long press drags. Every drag can also be done in the form of the booking (WCAG 2.2, 2.5.7).
import { type Interval, intervalOf, timesOf } from '../../src/time/interval.ts';
import type { SheetBooking } from '../day/day.ts';
import type { BookingValues } from '../day/series.ts';
import { dragTimes, halfHour } from '../day/time.ts';
import type { Cell, Grid, Selection } from './grid.ts';

export interface DragActions {
  readonly mayDrag: () => boolean;
  readonly select: (selection: Selection) => void;
  readonly move: (booking: SheetBooking, change: BookingValues) => Promise<void>;
}

interface Drag {
  readonly booking: SheetBooking | undefined;
  readonly resizes: boolean;
  readonly from: Cell;
  /** Where the pointer went down. */
  readonly down: PointerEvent;
  /** Where the pointer is. */
  at: PointerEvent;
  /** Set when the drag has begun, after a few pixels or a long press. */
  finish?: () => void;
}

const longPressMs = 450;
const tolerancePixels = 6;
/** The lower edge of a booking, which changes its end. */
const edgePixels = 10;
/** So close to the edge of the sheet, a drag scrolls. */
const scrollZonePixels = 24;
const scrollPixelsPerFrame = 8;

export function enableDrag(grid: Grid, { mayDrag, select, move }: DragActions): void {
  const { element, day } = grid;
  let drag: Drag | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function press(event: PointerEvent): void {
    const part = (event.target as Element).closest<HTMLElement>('.booking, .column');
    const from = grid.cellAt(event.clientX, event.clientY);
    if (event.button !== 0 || !event.isPrimary || !part || !from || !mayDrag()) return;
    // The box still shows the times before the last drag.
    if (part.classList.contains('saving')) return;
    const booking = day.bookings.get(part.dataset.id ?? '');
    const resizes = booking !== undefined && part.getBoundingClientRect().bottom - event.clientY < edgePixels;
    drag = { booking, resizes, from, down: event, at: event };
    grid.hold(booking?.id ?? '');
    if (event.pointerType === 'touch') timer = setTimeout(() => begin(event.pointerId), longPressMs);
  }

  function begin(pointerId: number): void {
    grid.rejection.hide();
    element.setPointerCapture(pointerId);
    element.classList.add('dragging');
    update();
    scrollAtEdge();
  }

  function update(): void {
    if (!drag) return;
    const { booking, resizes, from, at } = drag;
    const to = grid.cellAt(at.clientX, at.clientY);
    if (!to) return;
    if (booking) {
      const times = dragTimes(intervalOf(booking), (to.row - from.row) * halfHour, resizes);
      const bay = resizes ? from.bay : to.bay;
      drag.finish = () => moveTo(booking, bay, times);
      grid.showTimes(times, bay);
    } else {
      const [[bay, lastBay], [row, lastRow]] = [sorted(from.bay, to.bay), sorted(from.row, to.row)];
      const selection = { bay, lastBay, row, lastRow };
      drag.finish = () => select(selection);
      grid.showSelection(selection);
    }
  }

  function moveTo(booking: SheetBooking, bay: number, { start, end }: Interval): void {
    const bayId = day.bays[bay]?.id ?? booking.bayId;
    const before = intervalOf(booking);
    if (bayId !== booking.bayId || start !== before.start || end !== before.end)
      void move(booking, { bayId, userAlias: booking.userAlias, ...timesOf({ start, end }) });
  }

  /** Scrolls in each frame while the pointer is at an edge that it has moved to. */
  function scrollAtEdge(): void {
    if (!drag?.finish) return;
    const { down, at } = drag;
    const visible = grid.visibleBox();
    const step = (value: number, from: number, low: number, high: number) =>
      Number(value > Math.max(high - scrollZonePixels, from + scrollZonePixels)) -
      Number(value < Math.min(low + scrollZonePixels, from - scrollZonePixels));
    element.scrollBy(
      scrollPixelsPerFrame * step(at.clientX, down.clientX, visible.left, visible.right),
      scrollPixelsPerFrame * step(at.clientY, down.clientY, visible.top, visible.bottom),
    );
    update();
    requestAnimationFrame(scrollAtEdge);
  }

  function follow(event: PointerEvent): void {
    if (!drag || !event.isPrimary) return;
    drag.at = event;
    const distance = Math.hypot(event.clientX - drag.down.clientX, event.clientY - drag.down.clientY);
    // The button was released outside of the window.
    if (event.buttons === 0) cancel();
    else if (drag.finish) update();
    // A finger that moves before the long press scrolls.
    else if (distance > tolerancePixels && event.pointerType === 'touch') cancel();
    else if (distance > tolerancePixels) begin(event.pointerId);
  }

  function release({ isPrimary }: PointerEvent): void {
    // A second finger neither moves nor drops what the first one holds.
    if (!isPrimary) return;
    const finish = drag?.finish;
    cancel();
    if (!finish) return;
    // The click that follows a drag must not open a form.
    addEventListener('click', (event) => event.stopPropagation(), { capture: true, once: true });
    setTimeout(() => dispatchEvent(new MouseEvent('click')));
    finish();
  }

  function cancel(): void {
    clearTimeout(timer);
    drag = undefined;
    element.classList.remove('dragging');
    grid.marker.hidden = true;
    grid.hold(undefined);
  }

  element.addEventListener('pointerdown', press);
  element.addEventListener('pointermove', follow);
  element.addEventListener('pointerup', release);
  element.addEventListener('pointercancel', ({ isPrimary }) => isPrimary && cancel());
  // A finger that stops a moving sheet belongs to the browser: it would scroll again in the middle of a drag.
  element.addEventListener('touchstart', (event) => event.cancelable || cancel(), { passive: false });
  // A long press must not open the menu of the browser, which comes before `longPressMs` if the page is busy. Once the
  // drag has begun, the finger must not scroll.
  element.addEventListener('contextmenu', (event) => drag?.down.pointerType === 'touch' && event.preventDefault());
  element.addEventListener('touchmove', (event) => drag?.finish && event.preventDefault(), { passive: false });
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    cancel();
    grid.rejection.hide();
  });
}

const sorted = (a: number, b: number): readonly [number, number] => (a < b ? [a, b] : [b, a]);
