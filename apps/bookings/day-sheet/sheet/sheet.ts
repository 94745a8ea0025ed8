// Shows one day of a location: toolbar, grid and list. Keeps both up to date with the change feed.
import type { BookingLocation, Me } from '@bay-booking/client';
import { events, isFinal, offlineSince } from '../api.ts';
import { sentenceOf } from '../data/errors.ts';
import { connectionText, follow } from '../data/live.ts';
import { createUnreadDay, findReadDay, loadDay } from '../data/read.ts';
import { waitToRepeat } from '../data/repeat.ts';
import type { Day } from '../day/day.ts';
import { halfHour, longDate, proposedStart } from '../day/time.ts';
import type { UsageChoice } from '../day/usage.ts';
import { h, showMain } from '../dom.ts';
import { showHistory } from '../forms/history.ts';
import { moveBooking } from '../forms/move-booking.ts';
import type { FormDraft } from '../sign-in.ts';
import { createActions } from './actions.ts';
import { enableDrag } from './drag.ts';
import { createGrid } from './grid.ts';
import { enableKeyboard } from './keyboard.ts';
import { createListView } from './list.ts';
import { createNowView } from './now.ts';
import { searchAllDays } from './search.ts';
import { choices, createToolbar } from './toolbar.ts';

export interface SheetOptions {
  readonly me: Me;
  readonly locations: readonly BookingLocation[];
  readonly location: BookingLocation;
  readonly date: string;
  /** What was typed before a sign-in. */
  readonly draft: FormDraft | undefined;
  readonly go: (locationId: string, date: string, usage?: UsageChoice) => void;
  /** Loads the day again and opens the form again that is open now. */
  readonly reload: () => void;
}

/** Shows the day and keeps it up to date until `signal` is aborted. */
export async function showSheet(options: SheetOptions, signal: AbortSignal): Promise<void> {
  const { location, date, draft } = options;
  let problem: unknown;
  const read = () =>
    loadDay(location, date).catch((error: unknown) => {
      problem = error;
      return undefined;
    });
  let found = offlineSince === undefined ? await read() : undefined;
  found ??= findReadDay(location, date);
  if (!found) {
    // Every control stays, so the user can go back to a day that was read before.
    const unread = h('div.unread', { role: 'status' });
    if (!signal.aborted) showMain(...drawSheet(createUnreadDay(location, date), options, unread).elements);
    for (let failures = 1; !found && !signal.aborted; failures += 1) {
      const text =
        offlineSince === undefined && problem !== undefined
          ? await sentenceOf(problem, createUnreadDay(location, date))
          : 'This day cannot be shown without a connection. The page tries again by itself.';
      if (unread.textContent !== text) unread.textContent = text;
      if (isFinal(problem)) return;
      await waitToRepeat(failures, events, signal);
      found = await read();
    }
  }
  // The user may already want to see another day.
  if (!found || signal.aborted) return;
  const { day, position } = found;
  const sheet = drawSheet(day, options);
  showMain(...sheet.elements);
  sheet.scroll();
  if (draft) sheet.restore(draft);
  void follow(day, position, { ...sheet, reload: options.reload }, signal);
  // Paper has the list. A preview in the tools of a browser has no other event.
  addEventListener('beforeprint', sheet.drawList, { signal });
  matchMedia('print').addEventListener('change', sheet.drawList, { signal });
}

/** `unread` stands in the place of a day that could not be read. */
function drawSheet(day: Day, { me, locations, go, location, reload }: SheetOptions, unread?: HTMLElement) {
  const actions = createActions(day, me, reload);
  const { contextNow, report } = actions;
  const grid = createGrid(day, actions);
  enableKeyboard(grid, actions);
  enableDrag(grid, {
    mayDrag: () => contextNow().mayWrite,
    select: actions.openEmpty,
    move: async (booking, change) => {
      grid.setSaving(booking.id, true);
      await moveBooking(day, booking, change, (...shown) => grid.rejection.show(booking, ...shown));
      grid.setSaving(booking.id, false);
    },
  });
  const list = createListView(day, actions.open);
  const now = createNowView(day, actions.open);

  /** A view that nobody sees is not drawn. */
  const drawTexts = (): void => {
    if (choices.view === 'list') list.draw(choices.filter);
    if (choices.view === 'now') now.draw();
  };
  function showChoices(): void {
    grid.setFilter(choices.filter);
    grid.showBay(choices.bay);
    grid.element.classList.toggle('locked', !contextNow().mayWrite);
    // The buttons of the message move the booking.
    if (choices.locked) grid.rejection.hide();
    const wasHidden = grid.element.hidden;
    grid.element.hidden = choices.view !== 'grid';
    if (wasHidden && !grid.element.hidden) scrollToNow();
    list.element.hidden = choices.view !== 'list';
    now.element.hidden = choices.view !== 'now';
    drawTexts();
  }
  function scrollToNow(left = 0): void {
    const from = proposedStart(day, Date.now() < day.end ? Date.now() : 0);
    const row = Math.max((from - day.start) / halfHour - 4, 0);
    grid.element.scrollTo(left, row * grid.rowHeight());
  }
  const {
    element: toolbar,
    selectBay,
    showFound,
  } = createToolbar(day, locations, me, actions, {
    go,
    showChoices,
    scrollToNow: () => scrollToNow(grid.element.scrollLeft),
    searchAllDays: () =>
      void searchAllDays({ text: choices.filter.trim(), day, locations, contextNow, go }).catch(report),
    showUsage: () => go(location.id, day.date, { usage: 'week', by: 'day' }),
    showChanges: () => void showHistory(day, me.subject).catch(report),
  });
  // On a phone, the grid has one bay, and its heading is the choice of the bay.
  grid.element.append(h('div.bay-choice', selectBay));
  const status = h('output.status');
  const setStatus = (text: string): void => {
    status.textContent = text;
    status.classList.toggle('offline', text !== 'Live');
  };
  setStatus(connectionText(day));
  const heading = h('div.heading', h('h1', longDate(day)), h('p', location.name, h('span.connection', ' · ', status)));

  return {
    elements: unread ? [heading, toolbar, unread] : [heading, toolbar, grid.element, list.element, now.element],
    drawList: () => list.draw(choices.filter),
    showNow: (): void => {
      grid.showNow();
      if (choices.view === 'now') now.draw();
    },
    restore: actions.restore,
    drawBookings: (ids: readonly string[]): void => {
      ids.forEach(grid.update);
      drawTexts();
    },
    updateSchedule: (): void => {
      grid.updateSchedule();
      drawTexts();
    },
    setStatus,
    /**
     * Scrolls to where the user was before a sign-in, or else to the first match of the search, to some hours before
     * now, or to the morning.
     */
    scroll: (): void => {
      const { search, left, top } = choices.scroll;
      const isKept = search === window.location.search && left + top > 0;
      choices.scroll.search = '';
      if (isKept) grid.element.scrollTo(left, top);
      else scrollToNow();
      if (choices.filter.trim() && !isKept) showFound();
    },
  };
}
