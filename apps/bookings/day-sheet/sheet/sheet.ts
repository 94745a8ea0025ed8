// Shows one day of a location: toolbar, grid and list. Keeps both up to date with the change feed.
import type { BookingLocation, Me } from '@bay-booking/client';
import { type Day, loadDay } from '../day/day.ts';
import { halfHour, longDate } from '../day/time.ts';
import { announce, h } from '../dom.ts';
import { moveBooking } from '../forms/booking-form.ts';
import { showHistory } from '../forms/history.ts';
import type { Draft } from '../sign-in.ts';
import { createActions } from './actions.ts';
import { choices } from './choices.ts';
import { enableDrag } from './drag.ts';
import { createGrid } from './grid.ts';
import { enableKeyboard } from './keyboard.ts';
import { createList } from './list.ts';
import { follow } from './live.ts';
import { searchAllDays } from './search.ts';
import { createToolbar } from './toolbar.ts';

export interface SheetOptions {
  readonly me: Me;
  readonly locations: readonly BookingLocation[];
  readonly location: BookingLocation;
  readonly date: string;
  /** What was typed before a sign-in. */
  readonly draft: Draft | undefined;
  readonly go: (locationId: string, date: string) => void;
  /** Loads the day again, and opens the form again that is open now. */
  readonly reload: () => void;
}

/** Shows the day and keeps it up to date until `signal` is aborted. */
export async function showSheet(options: SheetOptions, signal: AbortSignal): Promise<void> {
  const { location, date, draft } = options;
  const { day, position } = await loadDay(location, date);
  // The user already wants to see another day.
  if (signal.aborted) return;
  const sheet = drawSheet(day, options);
  const focused = document.activeElement?.id;
  document.querySelector('main')?.replaceChildren(...sheet.elements);
  if (focused) document.getElementById(focused)?.focus();
  announce(longDate(day));
  sheet.scroll();
  if (draft) sheet.restore(draft);
  void follow(day, position, { ...sheet, reload: options.reload }, signal);
  addEventListener('beforeprint', sheet.preparePrint, { signal });
}

function drawSheet(day: Day, { me, locations, go, location }: SheetOptions) {
  const actions = createActions(day, me);
  const { contextNow, nextTime, report } = actions;
  const grid = createGrid(day, actions);
  enableKeyboard(grid, actions);
  enableDrag(grid, {
    mayDrag: () => contextNow().mayWrite,
    select: actions.openEmpty,
    move: (booking, change) => moveBooking(contextNow(), booking, change, (text) => grid.showRejection(booking, text)),
  });
  const list = createList(day, actions.open);

  /** A list that nobody sees is not drawn. */
  const drawList = (): void => {
    if (choices.view === 'list') list.draw(choices.filter);
  };
  function showChoices(): void {
    grid.setFilter(choices.filter);
    grid.showBay(choices.bay);
    grid.element.classList.toggle('locked', !contextNow().mayWrite);
    grid.element.hidden = choices.view !== 'grid';
    list.element.hidden = choices.view !== 'list';
    drawList();
  }
  const toolbar = createToolbar(day, locations, me, actions.editing, {
    go,
    showChoices,
    searchAllDays: () => void searchAllDays(choices.filter.trim(), day, contextNow, go).catch(report),
    showChanges: () => void showHistory(day, me.subject).catch(report),
  });
  const status = h('output', { class: 'status' }, 'Live');
  const heading = h('div', { class: 'heading' }, h('h1', {}, longDate(day)), h('p', {}, `${location.name} · `, status));

  return {
    elements: [heading, toolbar, grid.element, list.element],
    preparePrint: grid.preparePrint,
    showNow: grid.showNow,
    restore: actions.restore,
    drawBookings: (ids: readonly string[]): void => {
      ids.forEach(grid.update);
      drawList();
    },
    updateSchedule: (): void => {
      grid.updateSchedule();
      drawList();
    },
    setStatus: (text: string): void => {
      status.textContent = text;
      status.classList.toggle('offline', text !== 'Live');
    },
    /** Scrolls to where the user was before a sign-in, else to some hours before now, or to the morning. */
    scroll: (): void => {
      const [left, top] = choices.scroll;
      choices.scroll = [0, 0];
      const row = Math.max((Math.min(nextTime(), day.start + 36 * halfHour) - day.start) / halfHour - 4, 0);
      const rowHeight = (grid.columns[0]?.clientHeight ?? 0) / grid.rowCount;
      grid.element.scrollTo(left, left + top > 0 ? top : row * rowHeight);
    },
  };
}
