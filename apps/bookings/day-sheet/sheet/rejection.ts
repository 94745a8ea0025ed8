// Says at a booking in the grid why its change was rejected.
import { intervalOf } from '../../src/time/interval.ts';
import type { Day, SheetBooking } from '../day/day.ts';
import { h, link, notify, removeElement, setVariables } from '../dom.ts';

/** `place` moves an element to its times. */
export function createRejection(
  sheet: HTMLElement,
  day: Day,
  place: (part: HTMLElement, start: number, end: number) => void,
) {
  let shown: HTMLElement | undefined;

  function show(booking: SheetBooking, text: string, ...content: readonly HTMLElement[]): void {
    // The user may have gone to another day or view.
    if (!sheet.isConnected || sheet.hidden) {
      notify(text);
      return;
    }
    hide();
    shown = h('div.rejection', { role: 'alert', 'data-id': booking.id }, h('p', text), ...content, link('Close', hide));
    move(day.bookings.get(booking.id) ?? booking);
    sheet.append(shown);
    shown.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** Follows the booking. The box of the sentence grows towards the middle of the grid, where nothing cuts it off. */
  function move(booking: SheetBooking): void {
    if (shown?.dataset.id !== booking.id) return;
    const bay = Math.max(
      day.bays.findIndex(({ id }) => id === booking.bayId),
      0,
    );
    const { start, end } = intervalOf(booking);
    const isLate = start - day.start > day.end - end;
    const edge = isLate ? start : end;
    setVariables(shown, { column: bay + 2 });
    place(shown, edge, edge);
    shown.classList.toggle('late', isLate);
    shown.classList.toggle('last', bay >= day.bays.length / 2);
  }

  function hide(): void {
    if (shown) removeElement(shown);
    shown = undefined;
  }

  return { show, move, hide };
}
